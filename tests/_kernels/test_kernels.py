"""Every kernel against a naive twin; passes with NUMBA_DISABLE_JIT=1 too."""

import numba
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from glassleaf import _kernels

values_or_indicators = pytest.mark.parametrize("has_values", [False, True], ids=["ones", "values"])


def make_compressed(rng, n_rows, n_columns, has_values=True, dtype=np.uint32):
    """Compressed rows (ptr, idx, val) and the same as a plain matrix."""
    stored = rng.random((n_rows, n_columns)) < 0.4
    plain = np.where(stored, rng.normal(size=stored.shape) if has_values else 1.0, 0.0)
    ptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    _, idx = np.nonzero(stored)
    val = plain[stored] if has_values else np.zeros(0)
    return ptr.astype(np.int64), idx.astype(dtype), val, plain


def make_block(rng, n_rows, bins_of_feature=(4, 3)):
    """One bin of every feature per row; also as an indicator matrix (rows, bins)."""
    first = np.concatenate([[0], np.cumsum(bins_of_feature)[:-1]])
    bins = np.column_stack([rng.integers(0, n, n_rows) for n in bins_of_feature]) + first
    indicator = np.zeros((n_rows, sum(bins_of_feature)))
    for row in range(n_rows):
        indicator[row, bins[row]] = 1.0
    ptr = np.arange(n_rows + 1, dtype=np.int64) * len(bins_of_feature)
    return ptr, bins.ravel().astype(np.uint16), indicator


# --- learning the bins ---------------------------------------------------------------------------


def test_bins_of_four_values():
    out = np.empty(5, dtype=np.uint16)
    values = np.array([1.0, 1.5, 2.0, 9.0, np.nan])
    _kernels.assign_bins(values, np.array([1.0, 2.0, 9.0]), 3, out)
    assert out.tolist() == [0, 1, 1, 2, 3]


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 8, 9, 64, 100])
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 130])
def test_assign_bins_is_searchsorted(rng, n_bins, n_rows):
    upper = np.sort(rng.normal(size=n_bins))
    values = np.minimum(rng.normal(size=n_rows), upper[-1])
    values[::5] = rng.choice(upper, len(values[::5]))
    expected = np.searchsorted(upper, values)
    values[::7], expected[::7] = np.nan, n_bins
    out = np.empty(n_rows, dtype=np.uint16)
    _kernels.assign_bins(values, upper, n_bins, out)
    assert (out == expected).all()


def test_a_column_without_values_is_all_missing():
    out = np.empty(3, dtype=np.uint16)
    _kernels.assign_bins(np.full(3, np.nan), np.zeros(0), 0, out)
    assert out.tolist() == [0, 0, 0]


KINDS_OF_NUMBERS = {
    "few": lambda rng, n: rng.integers(-20, 20, n) / 4,
    "long": lambda rng, n: rng.normal(size=n),
    "of all sizes": lambda rng, n: rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-320, 308, n),
    "whole": lambda rng, n: rng.integers(-(10**6), 10**6, n).astype(float),
    "neighbors": lambda rng, n: np.nextafter(1.0, rng.choice([0.0, 1.0, 2.0], n)),
    "infinite": lambda rng, n: rng.choice([-np.inf, -1.5, 0.0, np.inf], n),
    "one": lambda rng, n: np.full(n, -7.25),
}


@pytest.mark.parametrize("n", [0, 1, 2, 60])
@pytest.mark.parametrize("kind", KINDS_OF_NUMBERS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_distinct_values_are_those_of_unique(rng, kind, n, is_weighted):
    given = KINDS_OF_NUMBERS[kind](rng, n)
    weight = rng.uniform(0.5, 2, n)
    before = given.copy(), weight.copy()
    values, total = np.empty((2, n))
    weights, memory = weight if is_weighted else np.zeros(0), np.full((4, n), np.nan)
    found = _kernels.distinct_values(given, weights, memory, values, total)
    expected, place = np.unique(given, return_inverse=True)
    np.testing.assert_array_equal(values[:found], expected)
    each = np.bincount(place, weight if is_weighted else None, len(expected))
    np.testing.assert_allclose(total[:found], each, rtol=1e-15 * max(n, 1))
    np.testing.assert_array_equal((given, weight), before)


def test_both_zeros_are_one_value():
    values, total = np.empty((2, 4))
    given = np.array([0.0, -0.0, -1.0, -0.0])
    assert _kernels.distinct_values(given, np.zeros(0), np.empty((4, 4)), values, total) == 2
    assert values[:2].tolist() == [-1.0, 0.0] and not np.signbit(values[1])
    assert total[:2].tolist() == [1.0, 3.0]


@pytest.mark.parametrize("sizes", [(5, 30), (30, 0), (0, 30), (25, 25)])
def test_merge_values_adds_weights(rng, sizes):
    mine, its = (np.unique(rng.integers(0, 40, size) / 4) for size in sizes)
    weights = rng.uniform(0.5, 2, len(mine)), rng.uniform(0.5, 2, len(its))
    values, weight = np.empty((2, len(mine) + len(its)))
    n = _kernels.merge_values(mine, weights[0], its, weights[1], values, weight)
    expected, place = np.unique(np.concatenate([mine, its]), return_inverse=True)
    np.testing.assert_array_equal(values[:n], expected)
    np.testing.assert_allclose(weight[:n], np.bincount(place, np.concatenate(weights), n))


def test_put_together_keeps_heavy_values_apart(rng):
    values = np.arange(60.0)
    weight = rng.uniform(0.1, 1, 60)
    weight[30] = 20.0
    kept, total = np.empty((2, 60))
    n = _kernels.put_together(values, weight, 2.0, kept, total)
    end = np.cumsum(weight)
    slices = np.column_stack([np.floor((np.append(0.0, end[:-1])) / 2), np.ceil(end / 2)])
    is_last = np.append((slices[1:] != slices[:-1]).any(axis=1), True)
    np.testing.assert_array_equal(kept[:n], values[is_last])
    np.testing.assert_allclose(np.cumsum(total[:n]), end[is_last])
    assert total[:n].max() == 20.0


@values_or_indicators
def test_append_entries_builds_compressed_rows(rng, has_values):
    ptr, idx, val, plain = make_compressed(rng, 12, 5, has_values)
    out_idx, out_val = np.zeros_like(idx), np.zeros_like(val)
    position = ptr[:-1].copy()
    for column in range(5):
        rows = np.flatnonzero(plain[:, column])
        index = np.full(len(rows), column, dtype=np.uint32)
        given = plain[rows, column] if has_values else np.zeros(0)
        _kernels.append_entries(rows, index, given, position, out_idx, out_val)
    assert (out_idx == idx).all() and (out_val == val).all() and (position == ptr[1:]).all()


@values_or_indicators
def test_take_rows_takes_rows(rng, has_values):
    ptr, idx, val, plain = make_compressed(rng, 12, 5, has_values)
    start, order = 3, np.array([4, 0, 2, 5, 1, 3])
    size = int(ptr[9] - ptr[3])
    out_ptr, out_idx = np.empty(7, dtype=np.int64), np.empty(size, dtype=np.uint32)
    out_val = np.empty(size if has_values else 0)
    _kernels.take_rows(ptr, idx, val, start, order, out_ptr, out_idx, out_val)
    taken = np.zeros((6, 5))
    for row in range(6):
        for e in range(out_ptr[row], out_ptr[row + 1]):
            taken[row, out_idx[e]] = out_val[e] if has_values else 1.0
    assert (taken == plain[start + order]).all()


def test_find_segments_follows_the_feature_and_its_default(rng):
    ptr, bins, indicator = make_block(rng, 20)
    # Of the second feature, whose bins start at 4.
    segment_of_bin = np.array([2, 0, 1], dtype=np.uint8)
    out = np.empty(15, dtype=np.uint8)
    _kernels.find_segments(ptr, bins, 5, 20, segment_of_bin, 4, 0, out)
    assert (out == segment_of_bin[np.argmax(indicator[5:, 4:], axis=1)]).all()
    without = np.zeros(21, dtype=np.int64)  # nothing stored: every row has the default
    _kernels.find_segments(without, bins, 5, 20, segment_of_bin, 4, 3, out)
    assert (out == 3).all()


# --- sums per bin --------------------------------------------------------------------------------


def test_sum_values_adds_the_vectors_of_every_bin(rng):
    ptr, bins, indicator = make_block(rng, 20)
    vectors = rng.normal(size=(20, 3))
    count, total = np.zeros(7, dtype=np.int64), np.zeros((7, 3))
    _kernels.sum_values(ptr, bins, vectors, 4, 18, count, total)
    assert (count == indicator[4:18].sum(axis=0)).all()
    np.testing.assert_allclose(total, indicator[4:18].T @ vectors[4:18])


def plain_moments(indicator, vectors, dense, with_squares):
    """Sums of vector times column per bin and, if asked for, last, of weight times its square."""
    moments = np.einsum("ib,ik,ij->bkj", indicator, vectors, dense)
    if not with_squares:
        return moments
    squares = np.einsum("ib,i,ij->bj", indicator, vectors[:, -1], dense**2)
    return np.concatenate([moments, squares[:, None]], axis=1)


with_or_without_squares = pytest.mark.parametrize("with_squares", [False, True])


@with_or_without_squares
@pytest.mark.parametrize("width", [2, 3])
def test_sum_dense_adds_products_and_squares(rng, width, with_squares):
    ptr, bins, indicator = make_block(rng, 20)
    vectors, dense = rng.random((20, width)), rng.normal(size=(20, 4))
    moments = np.zeros((7, width + with_squares, 6))
    _kernels.sum_dense(ptr, bins, vectors, dense, 4, 18, moments)
    rows = slice(4, 18)
    expected = plain_moments(indicator[rows], vectors[rows], dense[rows], with_squares)
    np.testing.assert_allclose(moments[:, :, :4], expected)
    assert (moments[:, :, 4:] == 0).all()


@with_or_without_squares
@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("n, n_columns", [(20, 0), (20, 4), (600, 4), (300, 40)])
def test_sum_uniform_is_all_sums_at_once(rng, n, n_columns, width, with_squares):
    bins = rng.integers(0, 7, (n, 3)).astype(np.uint16)
    indicator = np.array([np.bincount(row, minlength=7) for row in bins])
    vectors, dense = rng.random((n, width)), rng.normal(size=(n, n_columns))
    count, values = np.zeros(7, dtype=np.int64), np.zeros((7, width))
    moments = np.zeros((7, width + with_squares, n_columns + 2))
    where = (bins.ravel(), 3, vectors, dense, 4, n - 2)
    memory = np.full((7, _kernels.row_length(width + with_squares, n_columns, width)), np.nan)
    _kernels.sum_uniform(*where, memory, count, values, moments)
    rows = slice(4, n - 2)
    expected = plain_moments(indicator[rows], vectors[rows], dense[rows], with_squares)
    np.testing.assert_allclose(moments[:, :, :n_columns], expected)
    assert (moments[:, :, n_columns:] == 0).all()
    assert (count == indicator[rows].sum(axis=0)).all()
    np.testing.assert_allclose(values, indicator[rows].T @ vectors[rows])


@pytest.mark.parametrize(
    "n, n_columns", [(20, n) for n in range(21)] + [(6, 5), (3000, 18), (5000, 40)]
)
def test_sum_one_output_is_all_sums_at_once(rng, n, n_columns):
    n_entries = rng.integers(0, 4, n)  # of every row, which may have none
    ptr = np.concatenate([[0], np.cumsum(n_entries)])
    bins = rng.choice([0, 1, 2, 4, 5, 6], ptr[-1]).astype(np.uint16)  # bin 3 is empty
    indicator = np.array([np.bincount(own, minlength=7) for own in np.split(bins, ptr[1:-1])])
    vectors, dense = rng.random((n, 2)), rng.normal(size=(n, n_columns))
    count, values = np.zeros(7, dtype=np.int64), np.zeros((7, 2))
    moments = np.zeros((7, 3, n_columns + 2))
    _kernels.sum_one_output(ptr, bins, vectors, dense, 4, n - 2, count, values, moments)
    rows = slice(4, n - 2)
    expected = plain_moments(indicator[rows], vectors[rows], dense[rows], with_squares=True)
    np.testing.assert_allclose(moments[:, :, :n_columns], expected, rtol=1e-7, atol=1e-11)
    assert (moments[:, :, n_columns:] == 0).all()
    assert (count == indicator[rows].sum(axis=0)).all()
    np.testing.assert_allclose(values, indicator[rows].T @ vectors[rows])


@with_or_without_squares
@values_or_indicators
@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("n", [2, 12])  # rows with fewer entries than bins, and with more
def test_sum_sparse_agrees_with_the_plain_matrix(rng, n, width, has_values, with_squares):
    ptr, bins, indicator = make_block(rng, 20)
    vectors = rng.random((20, width))
    s_ptr, idx, val, plain = make_compressed(rng, 20, n, has_values)
    moments = np.full((7, width + with_squares, n + 3), 7.0)
    total = np.zeros((7, n, width + has_values))
    _kernels.sum_sparse(ptr, bins, vectors, s_ptr, idx, val, 4, 18, total, moments, 2)
    rows = slice(4, 18)
    expected = plain_moments(indicator[rows], vectors[rows], plain[rows], with_squares)
    np.testing.assert_allclose(moments[:, :, 2 : n + 2], expected, atol=1e-14)
    assert (moments[:, :, :2] == 7).all() and (moments[:, :, n + 2 :] == 7).all()


def test_ranges_dense_are_the_ranges_of_every_bin(rng):
    ptr, bins, indicator = make_block(rng, 20)
    dense = rng.normal(size=(20, 3))
    low, high = np.full((7, 3), np.inf), np.full((7, 3), -np.inf)
    _kernels.ranges_dense(ptr, bins, dense, 4, 18, low, high)
    for b in range(7):
        inside = dense[4:18][indicator[4:18, b] == 1]
        assert (low[b] == inside.min(axis=0, initial=np.inf)).all()
        assert (high[b] == inside.max(axis=0, initial=-np.inf)).all()


@values_or_indicators
def test_ranges_sparse_are_those_of_the_stored_values(rng, has_values):
    ptr, bins, indicator = make_block(rng, 20)
    s_ptr, idx, val, plain = make_compressed(rng, 20, 3, has_values)
    stored = np.zeros((7, 3), dtype=np.int64)
    low, high = np.full((7, 3), np.inf), np.full((7, 3), -np.inf)
    _kernels.ranges_sparse(ptr, bins, s_ptr, idx, val, 4, 18, stored, low, high)
    for b in range(7):
        for j in range(3):
            inside = plain[4:18, j][(indicator[4:18, b] == 1) & (plain[4:18, j] != 0)]
            assert stored[b, j] == len(inside)
            assert low[b, j] == inside.min(initial=np.inf)
            assert high[b, j] == inside.max(initial=-np.inf)


# Three features of 3 values and a missing bin: full, with missing values, categorical.
THREE_FEATURES = (
    np.array([0, 4, 8]),
    np.array([3, 3, 3]),
    np.array([False, False, True]),
    np.array([False, True, True]),
)


def sides_of_three_features():
    """The bins on the left and on the right of every candidate."""
    sides = [({0}, {1, 2}), ({0, 1}, {2}), ({0, 1, 2}, set())]
    for b in range(3):
        numbers, rest = {4 + k for k in range(b + 1)}, {4 + k for k in range(b + 1, 3)}
        sides += [(numbers, rest | {7}), (numbers | {7}, rest)]
    return sides + [({8 + b}, {8, 9, 10, 11} - {8 + b}) for b in range(4)]


SIDES = sides_of_three_features()
OPERATIONS = [(0, np.sum, 0.0), (1, np.min, np.inf), (2, np.max, -np.inf)]


@pytest.mark.parametrize(("operation", "reduce", "nothing"), OPERATIONS, ids=["sum", "min", "max"])
def test_combine_sides_makes_every_candidate(rng, operation, reduce, nothing):
    table = rng.normal(size=(12, 2))
    table[3] = nothing  # the first feature has no missing values
    left, right = np.empty((2, len(SIDES), 2))
    _kernels.combine_sides(table, *THREE_FEATURES, operation, left, right)
    for c, expected in enumerate(SIDES):
        for found, bins in zip((left[c], right[c]), expected, strict=True):
            wanted = reduce(table[sorted(bins)], axis=0) if bins else np.full(2, nothing)
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def standardized_gain(x, weight, slope):
    """``|g|^2 / |S|`` from the rows of a side themselves; a constant column has no gradient."""
    if not len(x):
        return 0.0
    mean = np.average(x, axis=0, weights=weight)
    spread = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
    z = np.where(spread > 1e-6, (x - mean) / np.maximum(spread, 1e-6), 0.0)
    gradient = np.append((slope.T @ z).ravel(), slope.sum(axis=0))
    return gradient @ gradient / weight.sum()


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_zscore_gains_are_those_of_standardized_rows(rng, n_outputs):
    n = 60
    bins = np.column_stack(
        [rng.integers(0, 3, n), 4 + rng.integers(0, 4, n), rng.integers(8, 12, n)]
    )
    x, weight = rng.normal(size=(n, 4)) + 1, rng.random(n)
    x[bins[:, 0] == 0, 1] = 2.0  # constant on the left of the first candidate
    x[:, 3] = -1.0
    slope = rng.normal(size=(n, n_outputs))
    vectors = np.column_stack([slope, weight])
    indicator = (bins[:, :, None] == np.arange(12)).any(axis=1)
    moments = plain_moments(indicator, vectors, x, with_squares=True)
    values = indicator.T @ vectors
    left, right = np.empty((2, len(SIDES), n_outputs + 1))
    _kernels.combine_sides(values, *THREE_FEATURES, 0, left, right)
    gains = np.zeros(len(SIDES))
    given = (moments.reshape(12, -1), left, right, *THREE_FEATURES, np.full(4, 1e-10))
    _kernels.zscore_gains(*given, gains)
    for leave_out in range(3):
        is_left_out = np.arange(len(SIDES)) % 3 == leave_out
        some = np.where(is_left_out, -np.inf, 0.0)
        _kernels.zscore_gains(*given, some)
        assert (some == np.where(is_left_out, -np.inf, gains)).all()
    for c, sides in enumerate(SIDES):
        rows = [indicator[:, sorted(side)].any(axis=1) for side in sides]
        expected = sum(standardized_gain(x[own], weight[own], slope[own]) for own in rows)
        assert gains[c] == pytest.approx(expected, rel=1e-9)


# --- losses --------------------------------------------------------------------------------------


def evaluate(kernel, y, raw, *given):
    value, slope, curvature = np.empty((3, len(y)))
    kernel(y, raw, *given, value, slope, curvature)
    return value, slope, curvature


def check(found, *expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def test_squared_error_kernel(rng):
    y, raw = rng.normal(size=(2, 20))
    found = evaluate(_kernels.squared_error, y, raw)
    check(found, (raw - y) ** 2 / 2, raw - y, np.ones(20))


def test_huber_kernel(rng):
    y, raw = 2 * rng.normal(size=(2, 40))
    r, far = raw - y, np.abs(raw - y) > 1.5
    value = np.where(far, 1.5 * np.abs(r) - 1.5**2 / 2, r**2 / 2)
    found = evaluate(_kernels.huber, y, raw, 1.5, 0.01)
    check(found, value, np.clip(r, -1.5, 1.5), np.where(far, 0.01, 1.0))


def test_poisson_kernel(rng):
    y, raw = rng.poisson(1.0, 30).astype(float), rng.normal(size=30)
    constant = np.array([v * np.log(v) - v if v > 0 else 0.0 for v in y])
    found = evaluate(_kernels.poisson, y, raw)
    check(found, np.exp(raw) - y * raw + constant, np.exp(raw) - y, np.exp(raw))


@pytest.mark.parametrize(
    "raw", [np.linspace(-60, 60, 5001), np.array([-700.0, 490.0])], ids=["near", "far"]
)
def test_log_links_far_out_agree_with_the_library(raw):
    for y in (0.0, 2.0):
        _, slope, curvature = evaluate(_kernels.poisson, np.full(len(raw), y), raw)
        np.testing.assert_allclose(curvature, np.exp(raw), rtol=2e-14)
        np.testing.assert_allclose(slope, np.exp(raw) - y, rtol=2e-14, atol=1e-13)
    _, slope, curvature = evaluate(_kernels.gamma, np.full(len(raw), 2.0), -raw)
    np.testing.assert_allclose(curvature, 2 * np.exp(raw), rtol=2e-14)
    np.testing.assert_allclose(slope, 1 - 2 * np.exp(raw), rtol=2e-14, atol=1e-13)


def test_gamma_kernel(rng):
    y, raw = rng.gamma(1.0, 1.0, 30), rng.normal(size=30)
    ratio = y * np.exp(-raw)
    check(evaluate(_kernels.gamma, y, raw), ratio - np.log(ratio) - 1, 1 - ratio, ratio)


def test_binary_log_loss_kernel(rng):
    y, raw = rng.integers(0, 2, 60).astype(float), 6 * rng.normal(size=60)
    p = 1 / (1 + np.exp(-raw))
    wrong = np.where(y == 1, -raw, raw)
    assert (wrong > 6).any()
    curvature = np.where(wrong > 6, 0.5 / np.maximum(wrong, 1), p * (1 - p))
    found = evaluate(_kernels.binary_log_loss, y, raw, 6.0)
    check(found, np.logaddexp(0, raw) - y * raw, p - y, curvature)


@pytest.mark.parametrize("with_curvature", [False, True])
def test_multiclass_log_loss_kernel(rng, with_curvature):
    y, raw = rng.integers(0, 3, 30).astype(float), rng.normal(size=(30, 3))
    value, slope = np.empty(30), np.empty((30, 3))
    curvature = np.empty((30 if with_curvature else 0, 6))
    _kernels.multiclass_log_loss(y, raw, 6.0, value, slope, curvature)
    for i in range(30):
        p = np.exp(raw[i]) / np.exp(raw[i]).sum()
        np.testing.assert_allclose(value[i], -np.log(p[int(y[i])]))
        np.testing.assert_allclose(slope[i], p - np.eye(3)[int(y[i])], atol=1e-15)
        if with_curvature:
            expected = (np.diag(p) - np.outer(p, p))[np.tril_indices(3)]
            np.testing.assert_allclose(curvature[i], expected, atol=1e-15)


def test_multiclass_log_loss_of_scores_far_apart_is_finite_and_right():
    raw = np.array([[0.0, 1e3, -1e3], [700.0, 0.0, -39.0], [0.0, 0.0, -1e300]])
    y = np.array([2.0, 0.0, 1.0])
    value, slope, curvature = np.empty(3), np.empty((3, 3)), np.empty((3, 6))
    _kernels.multiclass_log_loss(y, raw, 3.0, value, slope, curvature)
    np.testing.assert_allclose(value, [2e3, 0.0, np.log(2)], atol=1e-15)
    np.testing.assert_allclose(slope, [[0, 1, -1], [0, 0, 0], [0.5, -0.5, 0]], atol=1e-15)
    assert np.isfinite(curvature).all()


def test_multiclass_curvature_far_on_the_wrong_side_has_the_share_of_a_secant(rng):
    raw = np.array([[-9.0, 0.0, 1.0]])
    value, slope, curvature = np.empty(1), np.empty((1, 3)), np.empty((1, 6))
    _kernels.multiclass_log_loss(np.zeros(1), raw, 6.0, value, slope, curvature)
    p = np.exp(raw[0]) / np.exp(raw[0]).sum()
    own = 0.5 / value[0]
    share = np.array([own, *(p[1:] / p[1:].sum() * (1 - own))])
    expected = (np.diag(share) - np.outer(share, share))[np.tril_indices(3)]
    np.testing.assert_allclose(curvature[0], expected, rtol=1e-9)
    np.testing.assert_allclose(slope[0], p - [1, 0, 0], rtol=1e-12)


# --- sums per node -------------------------------------------------------------------------------


any_columns = pytest.mark.parametrize(("n_dense", "n_sparse"), [(3, 4), (3, 0), (0, 4), (0, 0)])


@values_or_indicators
@any_columns
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_raw_predictions_are_the_matrix_product(rng, has_values, n_dense, n_sparse, n_outputs):
    ptr, idx, val, plain = make_compressed(rng, 15, n_sparse, has_values)
    dense, intercept = rng.normal(size=(15, n_dense)), rng.normal(size=n_outputs)
    coef, out = rng.normal(size=(n_outputs, n_dense + n_sparse)), np.full((10, n_outputs), np.nan)
    _kernels.predict_raw(dense, ptr, idx, val, coef, intercept, 3, 13, out)
    expected = np.column_stack([dense, plain])[3:13] @ coef.T + intercept
    np.testing.assert_allclose(out, expected, atol=1e-13)


@values_or_indicators
@any_columns
@pytest.mark.parametrize("width", [1, 2])
def test_column_sums_are_the_matrix_product(rng, has_values, n_dense, n_sparse, width):
    ptr, idx, val, plain = make_compressed(rng, 15, n_sparse, has_values)
    dense, factors = rng.normal(size=(15, n_dense)), rng.normal(size=(10, width))
    out = np.full((width, n_dense + n_sparse + 1), np.nan)
    _kernels.sum_columns(dense, ptr, idx, val, factors, 3, 13, out)
    expected = factors.T @ np.column_stack([dense, plain, np.ones(15)])[3:13]
    np.testing.assert_allclose(out, expected, atol=1e-13)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_sums_in_vector_instructions_refuse_other_layouts(rng):
    ptr, bins, _ = make_block(rng, 20)
    given = (ptr, bins, rng.random((20, 2)), np.asfortranarray(rng.random((20, 6))), 0, 20)
    out = (np.zeros(7, dtype=np.int64), np.zeros((7, 2)), np.zeros((7, 3, 6)))
    with pytest.raises(numba.errors.TypingError, match="add_rows takes sums and tables of floats"):
        _kernels.sum_one_output(*given, *out)


@values_or_indicators
@pytest.mark.parametrize("n, n_dense", [(20, 3), (20, 0), (7, 2), (1500, 5)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_sums_of_log_loss_are_those_of_its_parts(rng, n, n_dense, has_values, n_classes):
    n_outputs = 1 if n_classes == 2 else n_classes
    ptr, idx, val, plain = make_compressed(rng, n, 4, has_values)
    dense, weight = rng.normal(size=(n, n_dense)), rng.random(n)
    y = rng.integers(0, n_classes, n) * 1.0
    coef, intercept = rng.normal(size=(n_outputs, n_dense + 4)), rng.normal(size=n_outputs)
    gradient = np.full((n_outputs, n_dense + 5), np.nan)
    curvature = np.empty((n - 7, n_outputs * (n_outputs + 1) // 2))
    given = (dense, ptr, idx, val, y, weight, coef, intercept, 3.0, 5, n - 2)
    total = _kernels.sum_log_loss if n_classes == 2 else _kernels.sum_multiclass_log_loss
    loss = total(*given, gradient, curvature)
    x, w = np.column_stack([dense, plain, np.ones(n)])[5 : n - 2], weight[5 : n - 2]
    raw, y = x @ np.column_stack([coef, intercept]).T, y[5 : n - 2]
    if n_classes == 2:
        value, slope, curve = evaluate(_kernels.binary_log_loss, y, raw[:, 0], 3.0)
        slope, curve = slope[:, None], curve[:, None]
    else:
        value, slope, curve = np.empty(n - 7), np.empty_like(raw), np.empty_like(curvature)
        _kernels.multiclass_log_loss(y, raw, 3.0, value, slope, curve)
    np.testing.assert_allclose(loss, w @ value)
    np.testing.assert_allclose(gradient, (w[:, None] * slope).T @ x, atol=1e-11)
    np.testing.assert_allclose(curvature, curve, atol=1e-15)
    again = gradient.copy()
    assert total(*given, again, curvature[:0]) == loss
    assert (again == gradient).all()


def test_scaled_rows_have_the_weighted_products(rng):
    dense, factor, out = rng.normal(size=(9, 3)), rng.random(9), np.empty((5, 4))
    _kernels.scale_rows(dense, factor, 2, 7, out)
    x = np.column_stack([dense, np.ones(9)])[2:7]
    np.testing.assert_allclose(out.T @ out, (x.T * factor[2:7]) @ x, atol=1e-14)


@values_or_indicators
def test_sparse_gram_is_the_lower_triangle_of_the_weighted_products(rng, has_values):
    ptr, idx, val, plain = make_compressed(rng, 15, 4, has_values)
    dense, factor, gram = rng.normal(size=(15, 3)), rng.random(10), np.zeros((8, 8))
    _kernels.sum_sparse_gram(ptr, idx, val, dense, factor, 3, 13, gram)
    x = np.column_stack([dense, plain, np.ones(15)])[3:13]
    expected = np.tril((x.T * factor) @ x)
    expected[:3], expected[7, :3], expected[7, 7] = 0, 0, 0  # products without compressed columns
    np.testing.assert_allclose(gram, expected, atol=1e-14)


@values_or_indicators
@pytest.mark.parametrize(
    ("n", "n_dense", "n_sparse"), [(20, 3, 4), (600, 2, 4), (9, 0, 4), (9, 3, 0)]
)
def test_grams_of_several_factors_are_the_weighted_products(rng, n, n_dense, n_sparse, has_values):
    ptr, idx, val, plain = make_compressed(rng, n, n_sparse, has_values)
    dense, weight, packed = (
        rng.normal(size=(n, n_dense)),
        rng.random(n),
        rng.normal(size=(n - 5, 6)),
    )
    size, places = n_dense + n_sparse + 1, np.array([1, 3, 4])
    out = np.zeros((size, size, 3))
    given = (dense, packed, weight, places, 3, n - 2, out)
    _kernels.sum_dense_grams(*given)
    _kernels.sum_sparse_grams(ptr, idx, val, *given)
    x = np.column_stack([dense, plain, np.ones(n)])[3 : n - 2]
    for q, place in enumerate(places):
        expected = np.tril((x.T * (weight[3 : n - 2] * packed[:, place])) @ x)
        np.testing.assert_allclose(out[:, :, q], expected, atol=1e-12)


def test_complements_are_the_total_minus_the_other_categories(rng):
    sums, total = rng.normal(size=(6, 9)), rng.normal(size=6)
    given = sums.copy()
    _kernels.fill_complements(sums, 2, np.array([4, 0, 1, 2]), np.array([0, 1, 4]), total)
    others = np.column_stack([given[:, 6], given[:, [2, 3, 4]].sum(axis=1)])
    np.testing.assert_allclose(sums[:, 7:], total[:, None] - others, atol=1e-13)
    assert (sums[:, :7] == given[:, :7]).all()


def test_standardized_grams_are_products_of_all_columns_standardized(rng):
    """Two dense columns, five indicators, and the complements of the first two and last three."""
    n, weight = 40, rng.random((3, 40))
    groups = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 4, n)])
    indicators = np.column_stack(
        [groups[:, 0] == k for k in range(2)] + [groups[:, 1] == k for k in range(3)]
    )
    kept = np.column_stack([rng.normal(size=(n, 2)), indicators, np.ones(n)])
    complements = groups == [2, 3]
    members, first = np.arange(5), np.array([0, 2, 5])
    mean, factor = rng.normal(size=(3, 9)), rng.random((3, 9))
    given = np.tril([(kept.T * own) @ kept for own in weight])
    out = np.full((3, 10, 10), np.nan)
    _kernels.standardize_grams(given, 2, members, first, mean, factor, out)
    for s in range(3):
        columns = (np.column_stack([kept[:, :-1], complements]) - mean[s]) * factor[s]
        columns = np.column_stack([columns, np.ones(n)])
        np.testing.assert_allclose(out[s], (columns.T * weight[s]) @ columns, atol=1e-12)
        assert (out[s] == out[s].T).all()


@values_or_indicators
@pytest.mark.parametrize("n_sparse", [0, 4])
def test_moments_are_sums_of_columns_and_their_squares(rng, has_values, n_sparse):
    ptr, idx, val, plain = make_compressed(rng, 100, n_sparse, has_values)
    dense, weight, moments = rng.normal(size=(100, 3)), rng.random(90), np.empty((2, 3 + n_sparse))
    _kernels.sum_moments(dense, ptr, idx, val, weight, 5, 95, moments)
    x = np.column_stack([dense, plain])[5:95]
    np.testing.assert_allclose(moments, [weight @ x, weight @ x**2], atol=1e-13)


def test_a_constant_column_of_many_rows_has_no_variance():
    """What a plain sum loses makes its spread some 1e-6 of its value."""
    n, constants = 20_000, np.array([1.7, 0.3, -2.1234, 29.77])
    dense, indicators = np.tile(constants, (n, 1)), np.zeros(n, dtype=np.uint32)
    for weight in (np.ones(n), np.full(n, 0.1), np.linspace(0.1, 3.0, n)):
        moments = np.empty((2, 5))
        given = (dense, np.arange(n + 1), indicators, np.zeros(0), weight, 0, n)
        _kernels.sum_moments(*given, moments)
        mean, square = moments / weight.sum()
        np.testing.assert_allclose(mean**2, square, rtol=4e-15)


def test_descent_soft_thresholds_one_coordinate():
    x = np.zeros(1)
    given = (np.array([[2.0]]), np.array([-5.0]), np.array([1.0]))
    _kernels.descend_coordinates(*given, np.array([-np.inf]), np.array([np.inf]), x, 0.0, 100)
    assert x.tolist() == [2.0]  # (5 - 1) / 2
    _kernels.descend_coordinates(*given, np.array([-np.inf]), np.array([1.5]), x, 0.0, 100)
    assert x.tolist() == [1.5]


def test_descent_finds_the_minimum_within_bounds(rng):
    A, slope, l1 = rng.normal(size=(20, 5)), 10 * rng.normal(size=5), np.full(5, 2.0)
    hessian = A.T @ A
    lower, upper = np.full(5, -0.3), np.full(5, 0.4)
    x = np.zeros(5)
    _kernels.descend_coordinates(hessian, slope, l1, lower, upper, x, 1e-20, 10_000)

    def objective(both):  # x as a difference of two numbers >= 0, so that it is smooth
        point = both[:5] - both[5:]
        gradient = hessian @ point + slope
        value = point @ hessian @ point / 2 + slope @ point + l1 @ (both[:5] + both[5:])
        return value, np.append(gradient + l1, l1 - gradient)

    bounds = [(0, high) for high in upper] + [(0, -low) for low in lower]
    best = minimize(objective, np.zeros(10), jac=True, bounds=bounds, options={"ftol": 1e-15})
    np.testing.assert_allclose(x, best.x[:5] - best.x[5:], atol=1e-5)
    own = objective(np.append(np.maximum(x, 0), np.maximum(-x, 0)))[0]
    assert own <= best.fun + 1e-9


# --- the finished tree ---------------------------------------------------------------------------


def test_find_leaves_follows_numbers_categories_missing_and_unknown():
    """Node 0: x0 <= 1 goes left to node 1, which asks whether x1 is category 1; else leaf 2."""
    tree = {
        "feature": np.array([0, 1, -1, -1, -1], dtype=np.int32),
        "threshold": np.array([1.0, np.nan, np.nan, np.nan, np.nan]),
        "left": np.array([1, 3, -1, -1, -1], dtype=np.int32),
        "right": np.array([2, 4, -1, -1, -1], dtype=np.int32),
        "missing_left": np.array([False, True, False, False, False]),
        "unknown_left": np.array([False, False, False, False, False]),
        "first_category": np.array([-1, 0, -1, -1, -1]),
        "categories": np.array([False, True, False]),
    }
    X = np.array([[1.0, 1], [1.5, 1], [0, 0], [0, 2], [0, np.nan], [0, -1], [np.nan, 1]])
    out = np.empty(len(X), dtype=np.int64)
    _kernels.find_leaves(X, *tree.values(), out)
    assert out.tolist() == [3, 2, 4, 4, 3, 4, 2]


def test_sum_terms_adds_numbers_categories_and_missing_terms():
    """Column 0: a number, term 0, missing term 4, filled by 10; column 1: categories, terms 1-3."""
    coef = np.array([[[2.0, 100.0, 200.0, 300.0, 7.0]], [[1.0, 0.0, 0.0, 0.0, 0.0]]])
    intercept = np.array([[0.5], [0.0]])
    X = np.array([[3.0, 0], [np.nan, 2], [3.0, np.nan], [3.0, -1], [3.0, 0]])
    nodes = np.array([0, 0, 0, 0, 1])
    out = np.empty((5, 1))
    high = np.full((2, 2), np.inf)
    rest = (np.array([0, 1]), np.array([False, True]), np.array([4, -1]), np.array([10.0, 0.0]))
    rest += (np.full(2, -1), np.zeros(3, dtype=np.int64), np.zeros(0), np.zeros(0))
    _kernels.sum_terms(X, nodes, coef, intercept, -high, high, *rest, out)
    assert out[:, 0].tolist() == [106.5, 327.5, 6.5, 6.5, 3.0]
    low, high = np.array([[4.0, np.inf], [-9.0, np.inf]]), np.array([[9.0, 0.0], [2.0, 0.0]])
    _kernels.sum_terms(X, nodes, coef, intercept, low, high, *rest, out)
    assert out[:, 0].tolist() == [108.5, 325.5, 8.5, 8.5, 2.0]


def test_sum_terms_takes_the_curve_of_the_clamped_term():
    """One column, filled by 2, whose curve goes through (0, 0), (1, 10) and (3, -10)."""
    coef, intercept = np.array([[[1.0, 100.0]]]), np.array([[0.5]])
    X = np.array([[-9.0], [0.5], [2.0], [np.nan], [9.0]])
    points = (np.array([1]), np.array([0, 3]), np.array([0.0, 1.0, 3.0]), np.array([0, 10.0, -10]))
    rest = (np.array([0]), np.array([False]), np.array([-1]), np.array([2.0]), *points)
    out = np.empty((5, 1))
    low, high = np.array([[-1.0]]), np.array([[2.5]])
    nodes = np.zeros(5, dtype=np.int64)
    _kernels.sum_terms(X, nodes, coef, intercept, low, high, *rest, out)
    assert out[:, 0].tolist() == [-0.5, 501.0, 2.5, 2.5, -497.0]


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_sum_terms_of_numbers_is_the_linear_model(rng, n_outputs):
    X, nodes = rng.normal(size=(20, 4)), rng.integers(0, 3, 20)
    coef, intercept = rng.normal(size=(3, n_outputs, 4)), rng.normal(size=(3, n_outputs))
    none = np.full(4, -1)
    out = np.empty((20, n_outputs))
    flags = np.zeros(4, dtype=np.bool_)
    high = np.full((3, 4), np.inf)
    rest = (np.arange(4), flags, none, np.zeros(4))
    rest += (none, np.zeros(5, dtype=np.int64), np.zeros(0), np.zeros(0))
    _kernels.sum_terms(X, nodes, coef, intercept, -high, high, *rest, out)
    expected = np.einsum("ikj,ij->ik", coef[nodes], X) + intercept[nodes]
    np.testing.assert_allclose(out, expected)


def test_log_loss_far_out_agrees_with_the_library():
    raw = np.linspace(-60, 60, 5001)
    for label in (0.0, 1.0):
        y = np.full(len(raw), label)
        value, slope, _ = evaluate(_kernels.binary_log_loss, y, raw, np.inf)
        np.testing.assert_allclose(value, np.logaddexp(0, raw) - y * raw, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(slope, expit(raw) - y, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n_points", [1, 2, 3, 4, 8, 23])
def test_interpolate_pieces_is_numpys(rng, n_points):
    x = np.sort(rng.normal(size=n_points))
    z = rng.normal(size=n_points)
    values = np.concatenate([rng.normal(size=50), x, x[[0, -1]] + [-9.0, 9.0], [-np.inf, np.inf]])
    values = np.append(values, np.nan)
    piece, out = np.empty(len(values), dtype=np.uint16), np.empty(len(values))
    _kernels.assign_bins(values, x, 0, piece)
    _kernels.interpolate_pieces(values, piece, x, z, out)
    np.testing.assert_allclose(out[:-1], np.interp(values[:-1], x, z), rtol=1e-13, atol=1e-14)
    assert np.isnan(out[-1])
    one_by_one = [_kernels.interpolate(own, 0, n_points, x, z) for own in values[:-1]]
    np.testing.assert_array_equal(out[:-1], one_by_one)

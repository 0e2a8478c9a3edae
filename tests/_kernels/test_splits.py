"""Sums per bin, and the gains of candidates: every kernel against a naive twin."""

import numba
import numpy as np
import pytest
from compressed import make_block, make_compressed, values_or_indicators

from glassleaf import _kernels


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


# Three features of 3 values and a missing bin: full, with missing values, categorical. And one of 2
# values, missing ones and two special ones, the first of which does not occur.
FEATURES = (
    np.array([0, 4, 8, 12]),
    np.array([3, 3, 3, 2]),
    np.array([False, False, True, False]),
    np.array([0, 1, 0, 2]),
    np.array([-1, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1, 1, -1, 0]),
)
N_BINS = 17
EMPTY = [3, 15]


def sides_of_features():
    """The bins on the left and on the right of every candidate."""
    sides = [({0}, {1, 2}), ({0, 1}, {2}), ({0, 1, 2}, set())]
    for b in range(3):
        numbers, rest = {4 + k for k in range(b + 1)}, {4 + k for k in range(b + 1, 3)}
        sides += [(numbers, rest | {7}), (numbers | {7}, rest)]
    sides += [({8 + b}, {8, 9, 10, 11} - {8 + b}) for b in range(4)]
    for numbers, rest in (({12}, {13}), ({12, 13}, set())):
        for states in (set(), {16}, {14}, {14, 16}):
            sides.append((numbers | states, rest | ({14, 16} - states)))
    return sides


SIDES = sides_of_features()


OPERATIONS = [(0, np.sum, 0.0), (1, np.min, np.inf), (2, np.max, -np.inf)]


@pytest.mark.parametrize(("operation", "reduce", "nothing"), OPERATIONS, ids=["sum", "min", "max"])
def test_combine_sides_makes_every_candidate(rng, operation, reduce, nothing):
    table = rng.normal(size=(N_BINS, 2))
    table[EMPTY] = nothing
    left, right = np.empty((2, len(SIDES), 2))
    _kernels.combine_sides(table, *FEATURES, operation, left, right)
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
        [
            rng.integers(0, 3, n),
            4 + rng.integers(0, 4, n),
            rng.integers(8, 12, n),
            rng.choice([12, 13, 14, 16], n),
        ]
    )
    x, weight = rng.normal(size=(n, 4)) + 1, rng.random(n)
    x[bins[:, 0] == 0, 1] = 2.0  # constant on the left of the first candidate
    x[:, 3] = -1.0
    slope = rng.normal(size=(n, n_outputs))
    vectors = np.column_stack([slope, weight])
    indicator = (bins[:, :, None] == np.arange(N_BINS)).any(axis=1)
    moments = plain_moments(indicator, vectors, x, with_squares=True)
    values = indicator.T @ vectors
    left, right = np.empty((2, len(SIDES), n_outputs + 1))
    _kernels.combine_sides(values, *FEATURES, 0, left, right)
    gains = np.zeros(len(SIDES))
    given = (moments.reshape(N_BINS, -1), left, right, *FEATURES, np.full(4, 1e-10))
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


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_sums_in_vector_instructions_refuse_other_layouts(rng):
    ptr, bins, _ = make_block(rng, 20)
    given = (ptr, bins, rng.random((20, 2)), np.asfortranarray(rng.random((20, 6))), 0, 20)
    out = (np.zeros(7, dtype=np.int64), np.zeros((7, 2)), np.zeros((7, 3, 6)))
    with pytest.raises(numba.errors.TypingError, match="add_rows takes sums and tables of floats"):
        _kernels.sum_one_output(*given, *out)


def test_complements_are_the_total_minus_the_other_categories(rng):
    sums, total = rng.normal(size=(6, 9)), rng.normal(size=6)
    given = sums.copy()
    _kernels.fill_complements(sums, 2, np.array([4, 0, 1, 2]), np.array([0, 1, 4]), total)
    others = np.column_stack([given[:, 6], given[:, [2, 3, 4]].sum(axis=1)])
    np.testing.assert_allclose(sums[:, 7:], total[:, None] - others, atol=1e-13)
    assert (sums[:, :7] == given[:, :7]).all()

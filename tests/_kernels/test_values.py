"""Values of columns, their bins and compressed rows: every kernel against a naive twin."""

import numpy as np
import pytest
from compressed import make_block, make_compressed, values_or_indicators

from glassleaf import _kernels


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

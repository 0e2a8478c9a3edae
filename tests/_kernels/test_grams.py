"""Products and moments of columns: every kernel against a naive twin."""

import numpy as np
import pytest
from compressed import make_compressed, values_or_indicators

from glassleaf import _kernels


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

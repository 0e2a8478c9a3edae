"""Finished trees: every kernel against a naive twin."""

import numpy as np
import pytest

from glassleaf import _kernels
from glassleaf.tables.special import state_value


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
    _kernels.find_leaves(X, X.view(np.uint64), *tree.values(), out)
    assert out.tolist() == [3, 2, 4, 4, 3, 4, 2]


def test_find_leaves_sends_every_special_value_to_its_side():
    tree = {
        "feature": np.array([0, -1, -1], dtype=np.int32),
        "threshold": np.array([1.0, np.nan, np.nan]),
        "left": np.array([1, -1, -1], dtype=np.int32),
        "right": np.array([2, -1, -1], dtype=np.int32),
        "missing_left": np.array([False, False, False]),
        "unknown_left": np.array([False, False, False]),
        "first_category": np.array([0, -1, -1]),
        "categories": np.array([False, True]),
    }
    X = np.array([[1.0], [2.0], [np.nan], [state_value(1)], [state_value(2)]])
    out = np.empty(len(X), dtype=np.int64)
    _kernels.find_leaves(X, X.view(np.uint64), *tree.values(), out)
    assert out.tolist() == [1, 2, 2, 2, 1]


def no_special(n_columns):
    return np.zeros(n_columns + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)


def test_sum_terms_adds_terms_of_special_values():
    """A number, term 0, filled by 10; term 1 is "missing", 2 the first special value."""
    coef, intercept = np.array([[[2.0, 7.0, 300.0]]]), np.array([[0.5]])
    X = np.array([[3.0], [np.nan], [state_value(1)], [state_value(2)]])
    special = np.array([0, 2]), np.array([2, -1])
    rest = (np.array([0]), np.array([False]), np.array([1]), *special, np.array([10.0]))
    rest += (np.zeros(2, dtype=np.int64), np.zeros(0), *no_limits(1, 1))
    high, nodes, out = np.full((1, 1), np.inf), np.zeros(4, dtype=np.int64), np.empty((4, 1))
    _kernels.sum_terms(X, X.view(np.uint64), nodes, coef, intercept, -high, high, *rest, out)
    assert out[:, 0].tolist() == [6.5, 27.5, 320.5, 20.5]


def no_limits(*shape):
    return np.full(shape, -np.inf), np.full(shape, np.inf)


def test_sum_terms_adds_numbers_categories_and_missing_terms():
    """Column 0: a number, term 0, missing term 4, filled by 10; column 1: categories, terms 1-3."""
    coef = np.array([[[2.0, 100.0, 200.0, 300.0, 7.0]], [[1.0, 0.0, 0.0, 0.0, 0.0]]])
    intercept = np.array([[0.5], [0.0]])
    X = np.array([[3.0, 0], [np.nan, 2], [3.0, np.nan], [3.0, -1], [3.0, 0]])
    nodes = np.array([0, 0, 0, 0, 1])
    out = np.empty((5, 1))
    high = np.full((2, 2), np.inf)
    rest = (np.array([0, 1]), np.array([False, True]), np.array([4, -1]), *no_special(2))
    rest += (np.array([10.0, 0.0]), np.zeros(3, dtype=np.int64), np.zeros(0), *no_limits(2, 1))
    _kernels.sum_terms(X, X.view(np.uint64), nodes, coef, intercept, -high, high, *rest, out)
    assert out[:, 0].tolist() == [106.5, 327.5, 6.5, 6.5, 3.0]
    low, high = np.array([[4.0, np.inf], [-9.0, np.inf]]), np.array([[9.0, 0.0], [2.0, 0.0]])
    _kernels.sum_terms(X, X.view(np.uint64), nodes, coef, intercept, low, high, *rest, out)
    assert out[:, 0].tolist() == [108.5, 325.5, 8.5, 8.5, 2.0]


def test_sum_terms_adds_hinges_of_the_clamped_term_and_holds_the_score():
    """One column, filled by 2, clamped to -1 .. 2.5, with hinges at 0 and 1."""
    coef, intercept = np.array([[[1.0, 10.0, -100.0]]]), np.array([[0.5]])
    X = np.array([[-9.0], [0.5], [2.0], [np.nan], [9.0]])
    rest = (np.array([0]), np.array([False]), np.array([-1]), *no_special(1), np.array([2.0]))
    rest += (np.array([0, 2]), np.array([0.0, 1.0]))
    out = np.empty((5, 1))
    low, high = np.array([[-1.0]]), np.array([[2.5]])
    nodes = np.zeros(5, dtype=np.int64)
    _kernels.sum_terms(
        X, X.view(np.uint64), nodes, coef, intercept, low, high, *rest, *no_limits(1, 1), out
    )
    assert out[:, 0].tolist() == [-0.5, 6.0, -77.5, -77.5, -122.0]
    limits = np.array([[-80.0]]), np.array([[5.0]])
    _kernels.sum_terms(X, X.view(np.uint64), nodes, coef, intercept, low, high, *rest, *limits, out)
    assert out[:, 0].tolist() == [-0.5, 5.0, -77.5, -77.5, -80.0]


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_sum_terms_of_numbers_is_the_linear_model(rng, n_outputs):
    X, nodes = rng.normal(size=(20, 4)), rng.integers(0, 3, 20)
    coef, intercept = rng.normal(size=(3, n_outputs, 4)), rng.normal(size=(3, n_outputs))
    none = np.full(4, -1)
    out = np.empty((20, n_outputs))
    flags = np.zeros(4, dtype=np.bool_)
    high = np.full((3, 4), np.inf)
    rest = (np.arange(4), flags, none, *no_special(4), np.zeros(4))
    rest += (np.zeros(5, dtype=np.int64), np.zeros(0), *no_limits(3, n_outputs))
    _kernels.sum_terms(X, X.view(np.uint64), nodes, coef, intercept, -high, high, *rest, out)
    expected = np.einsum("ikj,ij->ik", coef[nodes], X) + intercept[nodes]
    np.testing.assert_allclose(out, expected)


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

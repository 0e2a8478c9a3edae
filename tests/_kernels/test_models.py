"""Losses of rows, and sums over them: every kernel against a naive twin."""

import numpy as np
import pytest
from compressed import make_compressed, values_or_indicators
from scipy.special import expit

from glassleaf import _kernels


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


def test_log_loss_far_out_agrees_with_the_library():
    raw = np.linspace(-60, 60, 5001)
    for label in (0.0, 1.0):
        y = np.full(len(raw), label)
        value, slope, _ = evaluate(_kernels.binary_log_loss, y, raw, np.inf)
        np.testing.assert_allclose(value, np.logaddexp(0, raw) - y * raw, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(slope, expit(raw) - y, rtol=1e-12, atol=1e-15)

"""Losses of rows, and sums over the rows of a node for its model."""

from __future__ import annotations

import numba
import numpy as np

from glassleaf._kernels.compiling import arithmetic, kernel

# exp() of anything larger overflows; a raw score this extreme is already a certain event.
LARGEST_EXPONENT = 500.0


# --- losses: value, first and second derivative of every row -------------------------------------


@kernel
def squared_error(y, raw, value, slope, curvature):
    for i in range(y.shape[0]):
        residual = raw[i] - y[i]
        value[i] = 0.5 * residual * residual
        slope[i] = residual
        curvature[i] = 1.0


@kernel
def huber(y, raw, delta, far_curvature, value, slope, curvature):
    for i in range(y.shape[0]):
        residual = raw[i] - y[i]
        distance = abs(residual)
        near = min(distance, delta)
        value[i] = near * (distance - 0.5 * near)
        slope[i] = min(max(residual, -delta), delta)
        curvature[i] = 1.0 if distance <= delta else far_curvature


# Up to this number plain arithmetic gives the exponential. The compiler does it for several rows at
# once, unlike a call of the library's exp.
_NEAR = 40.0


@numba.njit(inline="always")
def _exp_of_near(x):
    """exp(x) for abs(x) <= _NEAR, to 2e-14; beyond, that of the nearest such number.

    Taylor's series of a 64th of it, then six squarings.
    """
    x = (-_NEAR if x < -_NEAR else _NEAR if x > _NEAR else x) * (1.0 / 64.0)
    power = 1.0 / 20922789888000.0
    power = power * x + 1.0 / 1307674368000.0
    power = power * x + 1.0 / 87178291200.0
    power = power * x + 1.0 / 6227020800.0
    power = power * x + 1.0 / 479001600.0
    power = power * x + 1.0 / 39916800.0
    power = power * x + 1.0 / 3628800.0
    power = power * x + 1.0 / 362880.0
    power = power * x + 1.0 / 40320.0
    power = power * x + 1.0 / 5040.0
    power = power * x + 1.0 / 720.0
    power = power * x + 1.0 / 120.0
    power = power * x + 1.0 / 24.0
    power = power * x + 1.0 / 6.0
    power = power * x + 1.0 / 2.0
    power = power * x + 1.0 / 1.0
    power = power * x + 1.0 / 1.0
    power = power * power
    power = power * power
    power = power * power
    power = power * power
    power = power * power
    return power * power


@arithmetic
def _exponentials(x, sign, out):
    """exp(sign * x), which may be large but never overflows."""
    for i in range(x.shape[0]):
        out[i] = _exp_of_near(sign * x[i])
    for i in range(x.shape[0]):
        if abs(x[i]) > _NEAR:
            out[i] = np.exp(min(sign * x[i], LARGEST_EXPONENT))


@arithmetic
def poisson(y, raw, value, slope, curvature):
    _exponentials(raw, 1.0, curvature)
    for i in range(y.shape[0]):
        value[i] = curvature[i] - y[i] * raw[i]
        slope[i] = curvature[i] - y[i]
    for i in range(y.shape[0]):
        if y[i] > 0:
            value[i] += y[i] * np.log(y[i]) - y[i]


@arithmetic
def gamma(y, raw, value, slope, curvature):
    _exponentials(raw, -1.0, curvature)
    for i in range(y.shape[0]):
        curvature[i] *= y[i]
        value[i] = curvature[i] + raw[i] - np.log(y[i]) - 1.0
        slope[i] = 1.0 - curvature[i]


@numba.njit(inline="always")
def _log1p_of_share(share):
    """log(1 + share) for 0 <= share <= 1: the series of 2 * artanh(share / (2 + share))."""
    ratio = share / (2.0 + share)
    square = ratio * ratio
    series = 2.0 / 31.0
    series = series * square + 2.0 / 29.0
    series = series * square + 2.0 / 27.0
    series = series * square + 2.0 / 25.0
    series = series * square + 2.0 / 23.0
    series = series * square + 2.0 / 21.0
    series = series * square + 2.0 / 19.0
    series = series * square + 2.0 / 17.0
    series = series * square + 2.0 / 15.0
    series = series * square + 2.0 / 13.0
    series = series * square + 2.0 / 11.0
    series = series * square + 2.0 / 9.0
    series = series * square + 2.0 / 7.0
    series = series * square + 2.0 / 5.0
    series = series * square + 2.0 / 3.0
    series = series * square + 2.0 / 1.0
    return series * ratio


@arithmetic
def binary_log_loss(y, raw, far_wrong, value, slope, curvature):
    for i in range(y.shape[0]):
        z = raw[i]
        small = _exp_of_near(-abs(z))  # never overflows
        inverse = 1.0 / (1.0 + small)
        value[i] = _log1p_of_share(small) + (z if z > 0.0 else 0.0) - y[i] * z
        slope[i] = (inverse if z >= 0.0 else small * inverse) - y[i]
        wrong = z * (1.0 - 2.0 * y[i])
        secant = 0.5 / (wrong if wrong > 1.0 else 1.0)
        curvature[i] = secant if wrong > far_wrong else small * inverse * inverse


@arithmetic
def multiclass_log_loss(y, raw, far_wrong, value, slope, curvature):
    """Softmax of every row; ``curvature`` (may be empty) is packed: (0, 0), (1, 0), (1, 1) ...

    If it has a column per class, it is that of each class by itself.
    """
    n_rows, n_classes = raw.shape
    is_apart = curvature.shape[1] == n_classes
    for i in range(n_rows):
        value[i] = raw[i, 0]  # the largest, so that no exponential overflows
        for k in range(1, n_classes):
            value[i] = max(value[i], raw[i, k])
        for k in range(n_classes):
            slope[i, k] = raw[i, k] - value[i]
    flat = slope.reshape(n_rows * n_classes)
    for j in range(flat.shape[0]):  # shares below exp(-40), 4e-18, count as that
        flat[j] = _exp_of_near(flat[j])
    share = np.empty(n_classes)
    for i in range(n_rows):
        own, total = np.int64(y[i]), 0.0
        for k in range(n_classes):
            total += slope[i, k]
        for k in range(n_classes):
            slope[i, k] /= total
        value[i] += np.log(total) - raw[i, own]
        if curvature.shape[0] > 0:
            others = 1.0
            if value[i] > far_wrong:
                others = (1.0 - 0.5 / value[i]) / (1.0 - slope[i, own])
            for k in range(n_classes):
                share[k] = slope[i, k] * others
            if value[i] > far_wrong:
                share[own] = 0.5 / value[i]
            place = 0
            for k in range(n_classes):
                for other in range(0 if is_apart else k):
                    curvature[i, place] = -share[k] * share[other]
                    place += 1
                curvature[i, place] = share[k] * (1.0 - share[k])
                place += 1
        slope[i, own] -= 1.0


# --- sums per node -------------------------------------------------------------------------------


@kernel
def predict_raw(dense, ptr, idx, val, coef, intercept, start, stop, out):
    """out[i, k] = intercept[k] + the product of row i and coef[k], dense columns first."""
    n_dense, has_values = dense.shape[1], val.shape[0] > 0
    of_sparse, product = coef[:, n_dense:], np.empty(stop - start)
    for k in range(out.shape[1]):
        np.dot(dense[start:stop], coef[k, :n_dense], product)
        for i in range(start, stop):
            raw = intercept[k] + product[i - start]
            if coef.shape[1] > n_dense:
                for e in range(ptr[i], ptr[i + 1]):
                    weight = of_sparse[k, idx[e]]
                    raw += val[e] * weight if has_values else weight
            out[i - start, k] = raw


@kernel
def sum_columns(dense, ptr, idx, val, factors, start, stop, out):
    """out[k, column] = sum of factors[i, k] * column over the rows, the constant 1 coming last."""
    n_dense, last, has_values = dense.shape[1], out.shape[1] - 1, val.shape[0] > 0
    of_sparse = out[:, n_dense:last]
    own, of_dense = np.empty(stop - start), np.empty(n_dense)
    for k in range(out.shape[0]):
        total = 0.0
        for i in range(stop - start):
            own[i] = factors[i, k]
            total += own[i]
        np.dot(own, dense[start:stop], of_dense)
        for j in range(last):
            out[k, j] = of_dense[j] if j < n_dense else 0.0
        out[k, last] = total
        if last > n_dense:
            for i in range(start, stop):
                factor = own[i - start]
                for e in range(ptr[i], ptr[i + 1]):
                    of_sparse[k, idx[e]] += factor * val[e] if has_values else factor


# This many rows stay in the processor's cache from their prediction to the sums of their columns.
_ROWS_PER_PREDICTION = 512


@kernel
def sum_log_loss(
    dense, ptr, idx, val, y, weight, coef, intercept, far_wrong, start, stop, gradient, curvature
):
    """``predict_raw``, ``binary_log_loss`` and ``sum_columns`` of its weighted slopes at once.

    Returns the weighted sum of the losses. ``curvature``, unless it is empty, gets the rows'
    curvatures, without their weights.
    """
    n_dense, last, has_values = dense.shape[1], gradient.shape[1] - 1, val.shape[0] > 0
    of_dense, of_sparse = coef[0, :n_dense], coef[0, n_dense:]
    sums = gradient[0]
    sparse_sums = sums[n_dense:last]
    found, of_columns = np.empty((4, _ROWS_PER_PREDICTION)), np.empty(n_dense)
    total = 0.0
    for j in range(last + 1):
        sums[j] = 0.0
    for first in range(start, stop, _ROWS_PER_PREDICTION):
        n = min(_ROWS_PER_PREDICTION, stop - first)
        raw, value, slope, curve = found[0, :n], found[1, :n], found[2, :n], found[3, :n]
        x = dense[first : first + n]
        np.dot(x, of_dense, raw)
        for i in range(n):
            raw[i] += intercept[0]
            for e in range(ptr[first + i], ptr[first + i + 1]):
                of_entry = of_sparse[idx[e]]
                raw[i] += val[e] * of_entry if has_values else of_entry
        binary_log_loss(y[first : first + n], raw, far_wrong, value, slope, curve)
        chunk_loss, chunk_slope = 0.0, 0.0
        for i in range(n):
            chunk_loss += weight[first + i] * value[i]
            slope[i] *= weight[first + i]
            chunk_slope += slope[i]
        if curvature.shape[0] > 0:
            for i in range(n):
                curvature[first - start + i, 0] = curve[i]
        np.dot(slope, x, of_columns)
        for j in range(n_dense):
            sums[j] += of_columns[j]
        for i in range(n):
            for e in range(ptr[first + i], ptr[first + i + 1]):
                sparse_sums[idx[e]] += slope[i] * val[e] if has_values else slope[i]
        total += chunk_loss
        sums[last] += chunk_slope
    return total


@kernel
def sum_multiclass_log_loss(
    dense, ptr, idx, val, y, weight, coef, intercept, far_wrong, start, stop, gradient, curvature
):
    """``sum_log_loss`` of several classes; ``curvature`` is packed, a row per row, or empty."""
    n_classes, n_dense, last = gradient.shape[0], dense.shape[1], gradient.shape[1] - 1
    has_values = val.shape[0] > 0
    of_dense, of_sparse = coef[:, :n_dense].T.copy(), coef[:, n_dense:].T.copy()
    sums, more = np.zeros((n_classes, n_dense)), np.empty((n_classes, n_dense))
    sparse_sums, of_one = np.zeros((last - n_dense, n_classes)), np.zeros(n_classes)
    shape = (_ROWS_PER_PREDICTION, n_classes)
    raws, slopes = np.empty(shape), np.empty(shape)
    value, total = np.empty(_ROWS_PER_PREDICTION), 0.0
    for first in range(start, stop, _ROWS_PER_PREDICTION):
        n = min(_ROWS_PER_PREDICTION, stop - first)
        raw, slope, x = raws[:n], slopes[:n], dense[first : first + n]
        np.dot(x, of_dense, raw)
        for i in range(n):
            for k in range(n_classes):
                raw[i, k] += intercept[k]
            for e in range(ptr[first + i], ptr[first + i + 1]):
                of_entry, entry = of_sparse[idx[e]], val[e] if has_values else 1.0
                for k in range(n_classes):
                    raw[i, k] += entry * of_entry[k]
        place = first - start
        curve = curvature[place : place + n] if curvature.shape[0] > 0 else curvature
        multiclass_log_loss(y[first : first + n], raw, far_wrong, value, slope, curve)
        chunk_loss = 0.0
        for i in range(n):
            chunk_loss += weight[first + i] * value[i]
            for k in range(n_classes):
                slope[i, k] *= weight[first + i]
                of_one[k] += slope[i, k]
            for e in range(ptr[first + i], ptr[first + i + 1]):
                own, entry = sparse_sums[idx[e]], val[e] if has_values else 1.0
                for k in range(n_classes):
                    own[k] += entry * slope[i, k]
        total += chunk_loss
        np.dot(slope.T, x, more)
        for k in range(n_classes):
            for j in range(n_dense):
                sums[k, j] += more[k, j]
    for k in range(n_classes):
        for j in range(n_dense):
            gradient[k, j] = sums[k, j]
        for j in range(n_dense, last):
            gradient[k, j] = sparse_sums[j - n_dense, k]
        gradient[k, last] = of_one[k]
    return total

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


# Numbers whose exponential is to be had from plain arithmetic, which the compiler does for several
# rows at once, unlike a call of the library's exp.
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
    """Softmax of every row; ``curvature`` (may be empty) is packed: (0, 0), (1, 0), (1, 1) ..."""
    n_rows, n_classes = raw.shape
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
                for other in range(k):
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


# So many rows stay in the processor's cache from their prediction to the sums of their columns.
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


@kernel
def scale_rows(dense, factor, start, stop, out):
    """Rows, and a constant 1 after them, times the square root of their factors.

    numpy's own loop would start anew for every row.
    """
    n = dense.shape[1]
    for i in range(start, stop):
        root, x, own = np.sqrt(factor[i]), dense[i], out[i - start]
        for j in range(n):
            own[j] = root * x[j]
        own[n] = root


@kernel
def sum_sparse_gram(ptr, idx, val, dense, factor, start, stop, gram):
    """Weighted products of compressed columns, which come after the dense ones, with all columns.

    The constant 1 is the last column. Only the lower triangle of ``gram`` is added to.
    """
    has_values = val.shape[0] > 0
    of_one = gram[gram.shape[0] - 1]
    n = np.uint64(dense.shape[1])
    for i in range(start, stop):
        x = dense[i]
        for e in range(ptr[i], ptr[i + 1]):
            column = n + np.uint64(idx[e])
            scaled = factor[i - start]
            if has_values:
                scaled *= val[e]
            of_one[column] += scaled
            row = gram[column]
            for j in range(x.shape[0]):
                row[j] += scaled * x[j]
            for f in range(ptr[i], e + 1):
                other = n + np.uint64(idx[f])
                product = scaled * val[f] if has_values else scaled
                gram[max(column, other), min(column, other)] += product


# Numbers that stay in the processor's cache while the products of some rows are summed.
_CACHED_PRODUCTS = 32_768


@arithmetic
def sum_dense_grams(dense, packed, weight, places, start, stop, out):
    """Weighted products of dense columns, the constant 1 last, for several factors per row.

    Factor q of row i is weight[i] * packed[i - start, places[q]]; ``out`` is indexed [a, b, q], of
    which b <= a is filled. The products of a row are computed once, for all factors.
    """
    n, last, n_factors = dense.shape[1], out.shape[0] - 1, places.shape[0]
    n_products = (n + 1) * (n + 2) // 2
    chunk = max(_CACHED_PRODUCTS // n_products, 32)
    products, factors = np.empty((chunk, n_products)), np.empty((chunk, n_factors))
    total, more = np.zeros((n_products, n_factors)), np.empty((n_products, n_factors))
    for first in range(start, stop, chunk):
        n_rows = min(chunk, stop - first)
        for i in range(n_rows):
            x, own, place = dense[first + i], products[i], 0
            for a in range(n):
                with_a = own[place : place + a + 1]
                for b in range(a + 1):
                    with_a[b] = x[a] * x[b]
                place += a + 1
            with_one = own[place:]
            for b in range(n):
                with_one[b] = x[b]
            with_one[n] = 1.0
            for q in range(n_factors):
                factors[i, q] = weight[first + i] * packed[first + i - start, places[q]]
        np.dot(products[:n_rows].T, factors[:n_rows], more)
        for j in range(n_products):
            for q in range(n_factors):
                total[j, q] += more[j, q]
    place = 0
    for a in range(n + 1):
        row = out[a] if a < n else out[last]
        for b in range(a + 1):
            target = b if b < n else last
            for q in range(n_factors):
                row[target, q] = total[place, q]
            place += 1


@arithmetic
def sum_sparse_grams(ptr, idx, val, dense, packed, weight, places, start, stop, out):
    """``sum_sparse_gram`` for the factors of ``sum_dense_grams``, added to its ``out``."""
    n, last, n_factors = dense.shape[1], out.shape[0] - 1, places.shape[0]
    has_values = val.shape[0] > 0
    factors = np.empty(n_factors)
    for i in range(start, stop):
        for q in range(n_factors):
            factors[q] = weight[i] * packed[i - start, places[q]]
        for e in range(ptr[i], ptr[i + 1]):
            column = n + np.int64(idx[e])
            value = val[e] if has_values else 1.0
            for b in range(n):
                product, own = value * dense[i, b], out[column, b]
                for q in range(n_factors):
                    own[q] += product * factors[q]
            for f in range(ptr[i], e + 1):
                other = n + np.int64(idx[f])
                product = value * val[f] if has_values else value
                own = out[max(column, other), min(column, other)]
                for q in range(n_factors):
                    own[q] += product * factors[q]
            own = out[last, column]
            for q in range(n_factors):
                own[q] += value * factors[q]


@kernel
def standardize_grams(grams, n_dense, members, first, mean, factor, out):
    """Products of columns as rows hold them to those of all columns, of mean 0 and spread 1.

    The first axis is the set of rows; the constant 1 comes last. Of what is given, the lower
    triangle counts. Complement g, which follows the columns that rows hold, is 1 minus the sparse
    ones ``members[first[g]:first[g + 1]]``; so are its products.
    """
    kept, n = grams.shape[1] - 1, out.shape[1] - 1
    for s in range(grams.shape[0]):
        given, own = grams[s], out[s]
        for a in range(kept):
            for b in range(a + 1):
                own[a, b] = own[b, a] = given[a, b]
            own[a, n] = own[n, a] = given[kept, a]
        own[n, n] = given[kept, kept]
        for g in range(n - kept):
            c = kept + g
            for b in range(kept):
                own[c, b] = own[n, b]
            own[c, n] = own[n, n]
            for m in range(first[g], first[g + 1]):
                member = n_dense + members[m]
                for b in range(kept):
                    own[c, b] -= own[member, b]
                own[c, n] -= own[member, n]
            for b in range(kept):
                own[b, c] = own[c, b]
            own[n, c] = own[c, n]
        for g in range(n - kept):
            for h in range(n - kept):
                total = own[kept + g, n]
                for m in range(first[h], first[h + 1]):
                    total -= own[kept + g, n_dense + members[m]]
                own[kept + g, kept + h] = total
        ones = own[n, n]
        for a in range(n):
            from_mean = own[a, n] - mean[s, a] * ones
            for b in range(a + 1):
                product = own[a, b] - mean[s, a] * own[n, b] - mean[s, b] * from_mean
                own[a, b] = own[b, a] = product * factor[s, a] * factor[s, b]
        for a in range(n):
            own[a, n] = own[n, a] = (own[n, a] - mean[s, a] * ones) * factor[s, a]


# Rows that are added up before what they lost in rounding is looked after.
_FEW_ROWS = 32


@kernel
def sum_moments(dense, ptr, idx, val, factors, start, stop, moments):
    """Sums of factor times column, then of factor times its square; ``moments`` is (2, columns).

    Means and variances are differences of these: in a plain sum of many rows, a constant column
    would seem to vary. So sums of a few rows are added up, with what each addition loses (Kahan).
    """
    n, kept = dense.shape[1], moments.shape[1]
    has_values = val.shape[0] > 0
    few, lost = np.empty((2, kept)), np.zeros((2, kept))
    of_sparse = few[:, n:]
    moments[:] = 0.0
    for first in range(start, stop, _FEW_ROWS):
        few[:] = 0.0
        for i in range(first, min(first + _FEW_ROWS, stop)):
            factor, x, of_columns, of_squares = factors[i - start], dense[i], few[0], few[1]
            for a in range(n):
                product = factor * x[a]
                of_columns[a] += product
                of_squares[a] += product * x[a]
            for e in range(ptr[i], ptr[i + 1]):
                product = factor * val[e] if has_values else factor
                of_sparse[0, idx[e]] += product
                of_sparse[1, idx[e]] += product * val[e] if has_values else product
        for k in range(2):
            for a in range(kept):
                more = few[k, a] - lost[k, a]
                both = moments[k, a] + more
                lost[k, a] = (both - moments[k, a]) - more
                moments[k, a] = both


@kernel
def descend_coordinates(hessian, slope, l1, lower, upper, x, tolerance, max_rounds):
    """Minimize x'Hx / 2 + slope'x + sum(l1 * |x|) with lower <= x <= upper, in place.

    Cyclic coordinate descent; stops when a whole round changes the value by less than
    ``tolerance``.
    """
    size = x.shape[0]
    product = slope.copy()
    for j in range(size):
        for k in range(size):
            product[k] += x[j] * hessian[j, k]
    for _ in range(max_rounds):
        gained = 0.0
        for j in range(size):
            curvature = hessian[j, j]
            if curvature <= 0.0:
                continue
            old = x[j]
            free = old * curvature - product[j]
            if free > l1[j]:
                new = (free - l1[j]) / curvature
            elif free < -l1[j]:
                new = (free + l1[j]) / curvature
            else:
                new = 0.0
            new = min(max(new, lower[j]), upper[j])
            change = new - old
            if change != 0.0:
                x[j] = new
                for k in range(size):
                    product[k] += change * hessian[j, k]
                gained += 0.5 * curvature * change * change
        if gained <= tolerance:
            break

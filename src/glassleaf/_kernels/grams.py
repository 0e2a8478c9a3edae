"""Products of columns, and moments of them, summed over the rows of a node."""

from __future__ import annotations

import numpy as np

from glassleaf._kernels.compiling import arithmetic, kernel


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


# Rows that are added up before the sum takes care of what they lost in rounding.
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

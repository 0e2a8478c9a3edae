"""Tight loops of explanations. Arrays in, arrays out, as in ``glassleaf._kernels``.

``first_term, is_category, missing_term, fill, low, high`` are those of the tree. ``X`` is a raw
matrix, ``Z`` the same with its columns transformed.
"""

from __future__ import annotations

import numba
import numpy as np


def _kernel(function):
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


@_kernel
def _add_effect(
    z, column, node, coef, mean, low, high, first_term, is_category, missing_term, fill, out
):
    """out[k] += the summands of one feature, minus their mean in the node."""
    first, missing = first_term[column], missing_term[column]
    is_missing = np.isnan(z)
    for k in range(coef.shape[1]):
        effect = 0.0
        if first >= 0 and not is_category[column]:
            value = fill[column] if is_missing else z
            value = min(max(value, low[node, column]), high[node, column])
            effect += coef[node, k, first] * (value - mean[node, first])
        elif first >= 0 and z >= 0:
            effect += coef[node, k, first + np.int64(z)]
        if missing >= 0 and is_missing:
            effect += coef[node, k, missing]
        out[k] += effect


@_kernel
def effects(
    Z, nodes, coef, mean, shift, low, high, first_term, is_category, missing_term, fill, out
):
    """out[i, column, k]: what the column adds to output k under the model of the row's node.

    ``shift[node, column, k]`` is the mean of what indicators add, which is subtracted.
    """
    for i in range(Z.shape[0]):
        node = nodes[i]
        for column in range(Z.shape[1]):
            for k in range(coef.shape[1]):
                out[i, column, k] = -shift[node, column, k]
            _add_effect(
                Z[i, column], column, node, coef, mean, low, high,
                first_term, is_category, missing_term, fill, out[i, column],
            )  # fmt: skip


# --- Shapley values ------------------------------------------------------------------------------


@_kernel
def patterns(X, leaf_first, column, low, high, missing, unknown, first_category, categories, out):
    """out[i, leaf]: which of the leaf's conditions row i meets, one bit each."""
    for i in range(X.shape[0]):
        for leaf in range(leaf_first.shape[0] - 1):
            bits = np.int64(0)
            for c in range(leaf_first[leaf], leaf_first[leaf + 1]):
                x = X[i, column[c]]
                if np.isnan(x):
                    holds = missing[c]
                elif first_category[c] < 0:
                    holds = low[c] < x <= high[c]
                elif x < 0:
                    holds = unknown[c]
                else:
                    holds = categories[first_category[c] + np.int64(x)]
                if holds:
                    bits |= np.int64(1) << np.int64(c - leaf_first[leaf])
            out[i, leaf] = bits


@_kernel
def sum_effects(
    Z, leaf, group, coef, mean, shift, low, high, first_term, is_category, missing_term, fill,
    count, total,
):  # fmt: skip
    """Sums of all rows' effects under the model of one leaf, by the group of the row."""
    effect = np.zeros(coef.shape[1])
    for i in range(Z.shape[0]):
        g = group[i]
        count[g] += 1
        for column in range(Z.shape[1]):
            for k in range(coef.shape[1]):
                effect[k] = -shift[leaf, column, k]
            _add_effect(
                Z[i, column], column, leaf, coef, mean, low, high,
                first_term, is_category, missing_term, fill, effect,
            )  # fmt: skip
            for k in range(coef.shape[1]):
                total[g, column, k] += effect[k]


@_kernel
def shapley_tables(
    own_bits, other_bits, count, total, base, path, is_on_path, factorial,
    slope, free_slope, constant,
):  # fmt: skip
    """Shapley values of one leaf as linear functions of a row's effects, for every pattern.

    Where the conditions of the path ``path`` are met by the row (``own_bits[t]``) or by the
    background rows of group g (``other_bits[g]``), the leaf is reached by the coalitions that hold
    all of A (met by the row only) and nothing of B (met by the others only). The rest is free.

    ``slope[t, p, q]``: how much feature p of the path gets of the effect of feature q;
    ``slope[t, p, -1]``: of each effect off the path. ``free_slope[t]``: how much a feature off the
    path gets of its own effect. ``constant[t, column, k]``: what does not depend on the effects.
    """
    n_path, n_outputs = path.shape[0], base.shape[0]
    full = (np.int64(1) << np.int64(n_path)) - 1
    certain, free_sum = np.zeros(n_outputs), np.zeros(n_outputs)
    for t in range(own_bits.shape[0]):
        for g in range(other_bits.shape[0]):
            if (own_bits[t] | other_bits[g]) != full:
                continue
            only_own = own_bits[t] & ~other_bits[g]
            only_other = other_bits[g] & ~own_bits[t]
            a = b = 0
            for p in range(n_path):
                a += (only_own >> p) & 1
                b += (only_other >> p) & 1
            n = count[g]
            # Weights of a coalition game in which A must come first and B must stay out.
            both = factorial[a] * factorial[b] / factorial[a + b + 1]
            for k in range(n_outputs):
                certain[k] = n * base[k]
                free_sum[k] = 0.0
            for column in range(total.shape[1]):
                p = is_on_path[column]
                if p >= 0 and (only_own >> p) & 1:
                    continue
                for k in range(n_outputs):
                    certain[k] += total[g, column, k]
                if p >= 0 and (only_other >> p) & 1:
                    continue
                for k in range(n_outputs):
                    free_sum[k] += total[g, column, k]
                    constant[t, column, k] -= both * total[g, column, k]
            free_slope[t] += both * n
            for p in range(n_path):
                if (only_own >> p) & 1:
                    of_certain = factorial[a - 1] * factorial[b] / factorial[a + b]
                    of_free = both
                elif (only_other >> p) & 1:
                    of_certain = -factorial[a] * factorial[b - 1] / factorial[a + b]
                    of_free = -factorial[a + 1] * factorial[b - 1] / factorial[a + b + 1]
                else:
                    slope[t, p, p] += both * n
                    continue
                for k in range(n_outputs):
                    constant[t, path[p], k] += of_certain * certain[k] - of_free * free_sum[k]
                for q in range(n_path):
                    if (only_own >> q) & 1:
                        slope[t, p, q] += of_certain * n
                    elif not (only_other >> q) & 1:
                        slope[t, p, q] += of_free * n
                slope[t, p, n_path] += of_free * n


@_kernel
def add_shapley(
    Z, leaf, pattern, path, is_on_path, slope, free_slope, constant, coef, mean, shift, low, high,
    first_term, is_category, missing_term, fill, out,
):  # fmt: skip
    """out[i, column, k] += the row's Shapley values in one leaf, from its tables."""
    n_columns, n_outputs, n_path = Z.shape[1], coef.shape[1], path.shape[0]
    effect = np.zeros((n_columns, n_outputs))
    off_path = np.zeros(n_outputs)
    for i in range(Z.shape[0]):
        t = pattern[i]
        if t < 0:
            continue
        for k in range(n_outputs):
            off_path[k] = 0.0
        for column in range(n_columns):
            for k in range(n_outputs):
                effect[column, k] = -shift[leaf, column, k]
            _add_effect(
                Z[i, column], column, leaf, coef, mean, low, high,
                first_term, is_category, missing_term, fill, effect[column],
            )  # fmt: skip
            if is_on_path[column] < 0:
                for k in range(n_outputs):
                    off_path[k] += effect[column, k]
                    out[i, column, k] += free_slope[t] * effect[column, k]
            for k in range(n_outputs):
                out[i, column, k] += constant[t, column, k]
        for p in range(n_path):
            for k in range(n_outputs):
                value = slope[t, p, n_path] * off_path[k]
                for q in range(n_path):
                    value += slope[t, p, q] * effect[path[q], k]
                out[i, path[p], k] += value

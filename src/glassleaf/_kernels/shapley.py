"""Tight loops of explanations. Arrays in, arrays out, as in ``glassleaf._kernels``.

Rows lie along the last axis here, so that the innermost loops run over them: ``Z[column, i]`` is
the raw matrix with its columns transformed, ``effect[column, k, i]`` what a column adds to output
k of row i.
"""

from __future__ import annotations

import numpy as np

from glassleaf._kernels.compiling import kernel
from glassleaf._kernels.states import state_of, state_term
from glassleaf._kernels.trees import sum_hinges


@kernel
def effects(
    Z, bits, node, coef, mean, shift, low, high, first_term, is_category, missing_term,
    first_special, special_term, fill, first_hinge, hinge_at, out,
):  # fmt: skip
    """What every column adds under the model of one node, relative to its mean there.

    ``shift[node, column, k]`` is the mean of what the column's indicators and its hinges add.
    """
    first_hinge_term = coef.shape[2] - hinge_at.shape[0]
    for column in range(Z.shape[0]):
        first, missing = first_term[column], missing_term[column]
        is_special = first_special[column + 1] > first_special[column]
        least, most = low[node, column], high[node, column]
        start, stop = first_hinge[column], first_hinge[column + 1]
        for k in range(coef.shape[1]):
            offset = shift[node, column, k]
            if_missing = (coef[node, k, missing] if missing >= 0 else 0.0) - offset
            if is_category[column]:
                for i in range(Z.shape[1]):
                    z = Z[column, i]
                    if z != z:
                        out[column, k, i] = if_missing
                    elif z >= 0:
                        out[column, k, i] = coef[node, k, first + np.int64(z)] - offset
                    else:
                        out[column, k, i] = -offset
                continue
            slope = coef[node, k, first] if first >= 0 else 0.0
            center = mean[node, first] if first >= 0 else 0.0
            filled = min(max(fill[column], least), most)
            if_missing += slope * (filled - center)
            for i in range(Z.shape[1]):
                z = Z[column, i]
                value = slope * (min(max(z, least), most) - center) - offset
                out[column, k, i] = value if z == z else if_missing
            if is_special:
                if_number = if_missing - (coef[node, k, missing] if missing >= 0 else 0.0)
                for i in range(Z.shape[1]):
                    if state_of(bits[column, i]) > 0:
                        own = state_term(
                            bits[column, i], column, missing_term, first_special, special_term
                        )
                        out[column, k, i] = if_number + (coef[node, k, own] if own >= 0 else 0.0)
            if stop > start:
                for i in range(Z.shape[1]):
                    z = Z[column, i]
                    z = min(max(z, least), most) if z == z else filled
                    out[column, k, i] += sum_hinges(
                        z, coef[node, k], start, stop, first_hinge_term, hinge_at
                    )


# --- Shapley values ------------------------------------------------------------------------------


@kernel
def patterns(X, bits, column, low, high, missing, unknown, first_category, categories, out):
    """out[i]: which of a leaf's conditions row i meets, one bit each; ``X[column, i]`` is raw.

    ``low`` is NaN for categories; those of a number are its special values.
    """
    out[:] = 0
    for c in range(column.shape[0]):
        bit = np.int64(1) << np.int64(c)
        at = column[c]
        if low[c] == low[c]:
            for i in range(X.shape[1]):
                x = X[at, i]
                holds = (low[c] < x) & (x <= high[c]) if x == x else missing[c]
                if first_category[c] >= 0 and state_of(bits[at, i]) > 0:
                    holds = categories[first_category[c] + state_of(bits[at, i]) - 1]
                out[i] |= bit * np.int64(holds)
        else:
            for i in range(X.shape[1]):
                x = X[at, i]
                if x != x:
                    holds = missing[c]
                elif x < 0:
                    holds = unknown[c]
                else:
                    holds = categories[first_category[c] + np.int64(x)]
                out[i] |= bit * np.int64(holds)


@kernel
def sum_effects(effect, group, count, total):
    """total[group, column, k] += effect[column, k, i], and the number of rows."""
    for i in range(group.shape[0]):
        count[group[i]] += 1
    for column in range(effect.shape[0]):
        for k in range(effect.shape[1]):
            for i in range(group.shape[0]):
                total[group[i], column, k] += effect[column, k, i]


@kernel
def shapley_tables(
    own_bits, other_bits, count, total, base, path, place_on_path, factorial,
    slope, free_slope, constant,
):  # fmt: skip
    """Shapley values of one leaf as linear functions of a row's effects, for every pattern.

    Where the conditions of the path are met by the row (``own_bits[t]``) or by the background rows
    of group g (``other_bits[g]``), the leaf is reached by the coalitions that hold all of A (met
    by the row only) and nothing of B (met by the others only). The rest is free.

    ``slope[p, q, t]``: how much feature p of the path gets of the effect of feature q;
    ``slope[p, -1, t]``: of each effect off the path. ``free_slope[t]``: how much a feature off the
    path gets of its own effect. ``constant[column, k, t]``: what does not depend on the effects.
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
            # Share of all orders of the features in which A and one more come first, then B.
            both = factorial[a] * factorial[b] / factorial[a + b + 1]
            for k in range(n_outputs):
                certain[k] = n * base[k]
                free_sum[k] = 0.0
            for column in range(total.shape[1]):
                p = place_on_path[column]
                if p >= 0 and (only_own >> p) & 1:
                    continue
                for k in range(n_outputs):
                    certain[k] += total[g, column, k]
                if p >= 0 and (only_other >> p) & 1:
                    continue
                for k in range(n_outputs):
                    free_sum[k] += total[g, column, k]
                    constant[column, k, t] -= both * total[g, column, k]
            free_slope[t] += both * n
            for p in range(n_path):
                if (only_own >> p) & 1:
                    of_certain = factorial[a - 1] * factorial[b] / factorial[a + b]
                    of_free = both
                elif (only_other >> p) & 1:
                    of_certain = -factorial[a] * factorial[b - 1] / factorial[a + b]
                    of_free = -factorial[a + 1] * factorial[b - 1] / factorial[a + b + 1]
                else:
                    slope[p, p, t] += both * n
                    continue
                for k in range(n_outputs):
                    constant[path[p], k, t] += of_certain * certain[k] - of_free * free_sum[k]
                for q in range(n_path):
                    if (only_own >> q) & 1:
                        slope[p, q, t] += of_certain * n
                    elif not (only_other >> q) & 1:
                        slope[p, q, t] += of_free * n
                slope[p, n_path, t] += of_free * n


@kernel
def add_shapley(effect, pattern, path, place_on_path, slope, free_slope, constant, out):
    """out[column, k, i] += the row's Shapley values in one leaf, from its tables."""
    n_columns, n_outputs, n_rows = effect.shape
    n_path = path.shape[0]
    off_path = np.zeros(n_rows)
    for k in range(n_outputs):
        off_path[:] = 0.0
        for column in range(n_columns):
            if place_on_path[column] < 0:
                for i in range(n_rows):
                    t = pattern[i]
                    off_path[i] += effect[column, k, i]
                    share = free_slope[t] * effect[column, k, i]
                    out[column, k, i] += share + constant[column, k, t]
            else:
                for i in range(n_rows):
                    out[column, k, i] += constant[column, k, pattern[i]]
        for p in range(n_path):
            for i in range(n_rows):
                out[path[p], k, i] += slope[p, n_path, pattern[i]] * off_path[i]
            for q in range(n_path):
                for i in range(n_rows):
                    out[path[p], k, i] += slope[p, q, pattern[i]] * effect[path[q], k, i]

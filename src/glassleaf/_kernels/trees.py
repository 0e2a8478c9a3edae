"""The finished tree: where rows go, and what the model there says."""

from __future__ import annotations

import numpy as np

from glassleaf._kernels.compiling import kernel
from glassleaf._kernels.states import state_of, state_term


@kernel
def find_leaves(
    X, bits, feature, threshold, left, right, missing_left, unknown_left, first_category,
    categories, out,
):  # fmt: skip
    """Leaf of every row of a raw matrix (categories as codes, NaN missing, -1 unknown).

    ``bits`` are those of the matrix, which tell special values apart.
    """
    for i in range(X.shape[0]):
        node = 0
        while left[node] >= 0:
            x = X[i, feature[node]]
            if np.isnan(x):
                state = state_of(bits[i, feature[node]])
                if state == 0 or first_category[node] < 0:
                    to_left = missing_left[node]
                else:
                    to_left = categories[first_category[node] + state - 1]
            elif not np.isnan(threshold[node]):
                to_left = x <= threshold[node]
            elif x < 0:
                to_left = unknown_left[node]
            else:
                to_left = categories[first_category[node] + np.int64(x)]
            node = left[node] if to_left else right[node]
        out[i] = node


@kernel
def sum_hinges(z, coef, first, last, first_hinge_term, hinge_at):
    """What the hinges ``first`` to ``last`` (exclusive) add at a term, with these coefficients."""
    total = 0.0
    for h in range(first, last):
        if z <= hinge_at[h]:
            break
        total += coef[first_hinge_term + h] * (z - hinge_at[h])
    return total


@kernel
def interpolate_pieces(values, piece, point_x, point_z, out):
    """The piecewise linear function through the points, of every value; missing ones stay so.

    ``piece`` is the bin of every value, where the points are upper bounds.
    """
    last = point_x.shape[0] - 1
    for i in range(values.shape[0]):
        x, k = values[i], piece[i]
        if np.isnan(x):
            out[i] = x
        elif x >= point_x[last]:
            out[i] = point_z[last]
        elif k == 0 or x == point_x[k]:
            out[i] = point_z[k]
        else:
            share = (x - point_x[k - 1]) / (point_x[k] - point_x[k - 1])
            out[i] = point_z[k - 1] + share * (point_z[k] - point_z[k - 1])


@kernel
def sum_terms(
    X, bits, nodes, coef, intercept, low, high, first_term, is_category, missing_term,
    first_special, special_term, fill, first_hinge, hinge_at, score_low, score_high, out,
):  # fmt: skip
    """Raw prediction of every row under the model of its node, straight from the tree's arrays."""
    n_outputs = coef.shape[1]
    first_hinge_term = coef.shape[2] - hinge_at.shape[0]
    for i in range(X.shape[0]):
        node = nodes[i]
        for k in range(n_outputs):
            raw = 0.0
            for column in range(X.shape[1]):
                x = X[i, column]
                term = first_term[column]
                is_missing = np.isnan(x)
                if is_missing:
                    own = state_term(
                        bits[i, column], column, missing_term, first_special, special_term
                    )
                    raw += coef[node, k, own] if own >= 0 else 0.0
                if term < 0:
                    continue
                if not is_category[column]:
                    value = fill[column] if is_missing else x
                    value = min(max(value, low[node, column]), high[node, column])
                    raw += coef[node, k, term] * value
                    first, last = first_hinge[column], first_hinge[column + 1]
                    if last > first:
                        raw += sum_hinges(
                            value, coef[node, k], first, last, first_hinge_term, hinge_at
                        )
                elif x >= 0:
                    raw += coef[node, k, term + np.int64(x)]
            raw += intercept[node, k]
            out[i, k] = min(max(raw, score_low[node, k]), score_high[node, k])

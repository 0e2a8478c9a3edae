"""Sums per bin, and what the search for splits makes of them."""

from __future__ import annotations

import numpy as np

from glassleaf._kernels.compiling import in_any_order, kernel
from glassleaf._kernels.registers import LANES, MOST_GROUPS, add_rows


@kernel
def sum_values(block_ptr, block_bins, vectors, start, stop, count, total):
    """count[b] and total[b, :] = sum of the row vectors in bin b."""
    width = vectors.shape[1]
    for i in range(start, stop):
        for e in range(block_ptr[i], block_ptr[i + 1]):
            b = block_bins[e]
            count[b] += 1
            for k in range(width):
                total[b, k] += vectors[i, k]


# Rows that are sorted by bin at a time: more, and a bin gets more of them each time its sums are
# read and written; fewer, and they stay in the processor's cache meanwhile.
_SORTED_ROWS = 2048


@kernel
def sum_one_output(block_ptr, block_bins, vectors, dense, start, stop, count, values, moments):
    """``sum_values`` and ``sum_dense`` for vectors of one output, and with squares.

    This case is by far the commonest. The entries of some rows are sorted by their bin: registers
    sum what is added to a bin, and write it to the bin's place once.
    """
    n, n_bins, most = dense.shape[1], count.shape[0], 0
    for first in range(start, stop, _SORTED_ROWS):
        most = max(most, block_ptr[min(first + _SORTED_ROWS, stop)] - block_ptr[first])
    one, rows = np.uint32(1), np.empty(most, dtype=np.uint32)
    # Where the next row of every bin goes; when all are in their place, where the bin ends.
    end_of_bin = np.empty(n_bins + 1, dtype=np.uint32)
    for first in range(start, stop, _SORTED_ROWS):
        last = min(first + _SORTED_ROWS, stop)
        own_vectors, x = vectors[first:last], dense[first:last]
        end_of_bin[:] = 0
        for e in range(block_ptr[first], block_ptr[last]):
            end_of_bin[np.uint64(block_bins[e]) + np.uint64(1)] += one
        for b in range(n_bins):
            end_of_bin[b + 1] += end_of_bin[b]
        for i in range(last - first):
            for e in range(block_ptr[first + i], block_ptr[first + i + 1]):
                b = block_bins[e]
                rows[end_of_bin[b]] = i
                end_of_bin[b] += one
        begin = 0
        for b in range(n_bins):
            end = np.int64(end_of_bin[b])
            if begin == end:
                continue
            output, weight = 0.0, 0.0
            for e in range(begin, end):
                output += own_vectors[rows[e], 0]
                weight += own_vectors[rows[e], 1]
            count[b] += end - begin
            values[b, 0] += output
            values[b, 1] += weight
            if n >= LANES:
                for column in range(0, n, LANES * MOST_GROUPS):
                    n_left = min(n - column, LANES * MOST_GROUPS)
                    add_rows(moments, b, x, own_vectors, rows, begin, end, column, n_left)
            else:
                for e in range(begin, end):
                    i = rows[e]
                    for j in range(n):
                        weighted = own_vectors[i, 1] * x[i, j]
                        moments[b, 0, j] += own_vectors[i, 0] * x[i, j]
                        moments[b, 1, j] += weighted
                        moments[b, 2, j] += weighted * x[i, j]
            begin = end


# The products of this many rows stay in the processor's cache.
_KEPT_ROWS = 128
# Numbers that one round of a vectorized loop adds; what is left over costs as much as a round each.
_LOOP_LENGTH = 16


def row_length(n_products: int, n_columns: int, width: int) -> int:
    """Length of all that a row adds to a bin in ``sum_uniform``."""
    return -(-(n_products * n_columns + width + 1) // _LOOP_LENGTH) * _LOOP_LENGTH


@kernel
def sum_uniform(block_bins, per_row, vectors, dense, start, stop, sums, count, values, moments):
    """``sum_values`` and ``sum_dense`` of a block with ``per_row`` bins in every row.

    All that a row adds to a bin is computed once and lies side by side: the products by vector, the
    squares if there is room for them, the vector itself, and 1. ``sums`` is memory for that, of any
    content, as many rows as there are bins, each of ``row_length``.
    """
    n_bins, n_products, n = moments.shape[0], moments.shape[1], dense.shape[1]
    width = vectors.shape[1]
    size = n_products * n
    padded = sums.shape[1]
    products = np.zeros((_KEPT_ROWS, padded))
    for b in range(n_bins):
        for j in range(padded):
            sums[b, j] = 0.0
    for first in range(start, stop, _KEPT_ROWS):
        last = min(first + _KEPT_ROWS, stop)
        for i in range(first, last):
            own, x = products[i - first], dense[i]
            for k in range(width):
                factor, part = vectors[i, k], own[k * n : (k + 1) * n]
                own[size + k] = factor
                for j in range(n):
                    part[j] = factor * x[j]
            if n_products > width:
                factor, part = vectors[i, width - 1], own[width * n : size]
                for j in range(n):
                    part[j] = factor * x[j] * x[j]
            own[size + width] = 1.0
        for place in range(per_row):
            for i in range(first, last):
                own, of_bin = products[i - first], sums[block_bins[i * per_row + place]]
                for j in range(padded):
                    of_bin[j] += own[j]
    for b in range(n_bins):
        for k in range(n_products):
            for j in range(n):
                moments[b, k, j] += sums[b, k * n + j]
        for k in range(width):
            values[b, k] += sums[b, size + k]
        count[b] += np.int64(sums[b, size + width])


@kernel
def sum_dense(block_ptr, block_bins, vectors, dense, start, stop, moments):
    """moments[b, k, j] += vectors[i, k] * x[i, j]; after them, if there is room, the squares.

    These are weight * x[i, j] ** 2.
    """
    width, n_columns = vectors.shape[1], dense.shape[1]
    with_squares = moments.shape[1] > width
    for i in range(start, stop):
        weight = vectors[i, width - 1]
        for e in range(block_ptr[i], block_ptr[i + 1]):
            b = block_bins[e]
            for k in range(width):
                factor = vectors[i, k]
                for j in range(n_columns):
                    moments[b, k, j] += factor * dense[i, j]
            if with_squares:
                for j in range(n_columns):
                    moments[b, width, j] += weight * dense[i, j] * dense[i, j]


@kernel
def sum_sparse(block_ptr, block_bins, vectors, ptr, idx, val, start, stop, total, moments, n_dense):
    """The same as ``sum_dense`` for compressed columns, which come after the dense ones.

    They are collected in ``total``, indexed [b, column, k], where what is added to at the same time
    lies together. With values other than 1 it has room for the weighted squares; indicators are
    their own squares.
    """
    width = vectors.shape[1]
    are_plain = val.shape[0] == 0 and width == 2  # indicators and one output: by far the commonest
    in_block, in_rows = block_ptr[stop] - block_ptr[start], ptr[stop] - ptr[start]
    # The longer of two loops is the inner one: a processor guesses its end nearly always.
    if are_plain and in_block > in_rows:
        for i in range(start, stop):
            first, weight = vectors[i, 0], vectors[i, 1]
            for f in range(ptr[i], ptr[i + 1]):
                column = idx[f]
                for e in range(block_ptr[i], block_ptr[i + 1]):
                    total[block_bins[e], column, 0] += first
                    total[block_bins[e], column, 1] += weight
    elif are_plain:
        for i in range(start, stop):
            first, weight = vectors[i, 0], vectors[i, 1]
            for e in range(block_ptr[i], block_ptr[i + 1]):
                b = block_bins[e]
                for f in range(ptr[i], ptr[i + 1]):
                    total[b, idx[f], 0] += first
                    total[b, idx[f], 1] += weight
    elif val.shape[0] == 0:
        for i in range(start, stop):
            for e in range(block_ptr[i], block_ptr[i + 1]):
                b = block_bins[e]
                for f in range(ptr[i], ptr[i + 1]):
                    for k in range(width):
                        total[b, idx[f], k] += vectors[i, k]
    else:
        for i in range(start, stop):
            weight = vectors[i, width - 1]
            for e in range(block_ptr[i], block_ptr[i + 1]):
                b = block_bins[e]
                for f in range(ptr[i], ptr[i + 1]):
                    for k in range(width):
                        total[b, idx[f], k] += vectors[i, k] * val[f]
                    total[b, idx[f], width] += weight * val[f] * val[f]
    last = total.shape[2] - 1
    for b in range(total.shape[0]):
        for k in range(moments.shape[1]):
            of_bin, found, source = moments[b, k, n_dense:], total[b], min(k, last)
            for column in range(found.shape[0]):
                of_bin[column] = found[column, source]


@kernel
def ranges_dense(block_ptr, block_bins, dense, start, stop, low, high):
    """Smallest and largest value of every dense column in every bin."""
    n_columns = dense.shape[1]
    for i in range(start, stop):
        for e in range(block_ptr[i], block_ptr[i + 1]):
            b = block_bins[e]
            for j in range(n_columns):
                x = dense[i, j]
                if x < low[b, j]:
                    low[b, j] = x
                if x > high[b, j]:
                    high[b, j] = x


@kernel
def ranges_sparse(block_ptr, block_bins, ptr, idx, val, start, stop, stored, low, high):
    """Range of the stored values of every compressed column in every bin, and how many."""
    has_values = val.shape[0] > 0
    for i in range(start, stop):
        for e in range(block_ptr[i], block_ptr[i + 1]):
            b = block_bins[e]
            for f in range(ptr[i], ptr[i + 1]):
                column = idx[f]
                x = val[f] if has_values else 1.0
                stored[b, column] += 1
                if x < low[b, column]:
                    low[b, column] = x
                if x > high[b, column]:
                    high[b, column] = x


@kernel
def fill_complements(sums, n_dense, members, first, total):
    """Sums with complements, the last columns: the total minus those of the other categories."""
    n_complements = first.shape[0] - 1
    kept = sums.shape[1] - n_complements
    for row in range(sums.shape[0]):
        own, of_sparse = sums[row], sums[row, n_dense:]
        for g in range(n_complements):
            left = total[row]
            for m in range(first[g], first[g + 1]):
                left -= of_sparse[members[m]]
            own[kept + g] = left


@kernel
def combine_sides(
    table, first_bin, n_values, is_categorical, n_groups, group_of_bin, operation, left, right
):
    """Both sides of every candidate of a block, from the statistics of its bins.

    ``operation`` 0 adds, 1 takes the smallest, 2 the largest. Candidates come feature by feature
    and bin by bin; see ``fit.splits.gains`` for which there are. Nothing is ever subtracted.

    The bins of a number's states belong to groups (``group_of_bin``, -1 for none), which go to
    either side: at every border, bit g of a candidate's number says whether group g goes left.
    """
    nothing = 0.0 if operation == 0 else (np.inf if operation == 1 else -np.inf)
    running, none = np.empty(table.shape[1]), np.empty(table.shape[1])
    for j in range(none.shape[0]):
        none[j] = nothing
    out = 0
    for feature in range(first_bin.shape[0]):
        first, one_bin = first_bin[feature], is_categorical[feature]
        copies = 1 << n_groups[feature]
        n_own = n_values[feature] + 1 if one_bin else n_values[feature]
        states = np.full((copies, table.shape[1]), nothing)
        last_bin = first_bin[feature + 1] if feature + 1 < first_bin.shape[0] else table.shape[0]
        _combine_states(table, first + n_values[feature], last_bin, group_of_bin, operation, states)
        _combine(none, none, operation, running)
        for b in range(n_own):  # forwards: the left sides, or all bins before this one
            c = out + b * copies
            if one_bin:
                _combine(table[first + b], none, operation, left[c])
                _combine(running, none, operation, right[c])
            _take_in(running, table[first + b], operation)
            if not one_bin:
                for group in range(copies):
                    _combine(running, states[group], operation, left[c + group])
        _combine(none, none, operation, running)
        for b in range(n_own - 1, -1, -1):  # backwards: all bins after this one
            c = out + b * copies
            if one_bin:
                _take_in(right[c], running, operation)
            else:
                for group in range(copies):
                    _combine(running, states[copies - 1 - group], operation, right[c + group])
            _take_in(running, table[first + b], operation)
        out += n_own * copies


@kernel
def _combine_states(table, first, last, group_of_bin, operation, out):
    """out[s]: the statistics of the groups in s, one bit each; states are bins up to ``last``."""
    for b in range(first, last):
        for s in range(out.shape[0]):
            if group_of_bin[b] >= 0 and (s >> group_of_bin[b]) & 1:
                _take_in(out[s], table[b], operation)


@kernel
def _combine(one, other, operation, out):
    for j in range(out.shape[0]):
        if operation == 0:
            out[j] = one[j] + other[j]
        elif operation == 1:
            out[j] = min(one[j], other[j])
        else:
            out[j] = max(one[j], other[j])


@kernel
def _take_in(total, more, operation):
    # ``_combine`` would be several times slower: the compiler must not see one array twice.
    for j in range(total.shape[0]):
        if operation == 0:
            total[j] += more[j]
        elif operation == 1:
            total[j] = min(total[j], more[j])
        else:
            total[j] = max(total[j], more[j])


@kernel
def zscore_gains(
    moments, left, right, first_bin, n_values, is_categorical, n_groups, group_of_bin, floor, gains
):
    """Equation 6 for every candidate of ``combine_sides``, each side in the units of equation 14.

    The sides are not kept, for their columns would fill much memory: ``gains`` gets the gain of the
    left one and, on the way back, that of the right one. Candidates whose gain is minus infinity
    already are skipped. ``moments`` has the products of vectors and columns,
    then the squares, side by side; ``left`` and ``right`` are the sums of the vectors on the two
    sides.
    """
    n_columns, width = floor.shape[0], moments.shape[1]
    side, spare = np.empty(width), np.empty(n_columns)
    out = 0
    for feature in range(first_bin.shape[0]):
        first, one_bin = first_bin[feature], is_categorical[feature]
        copies = 1 << n_groups[feature]
        n_own = n_values[feature] + 1 if one_bin else n_values[feature]
        states = np.zeros((copies, width))
        last_bin = first_bin[feature + 1] if feature + 1 < first_bin.shape[0] else moments.shape[0]
        _combine_states(moments, first + n_values[feature], last_bin, group_of_bin, 0, states)
        before = np.zeros((n_own + 1 if one_bin else 0, width))
        running = np.zeros(width)
        for b in range(n_own):
            c, own = out + b * copies, moments[first + b]
            if one_bin:
                if gains[c] > -np.inf:
                    gains[c] += _zscore_gain(own, left[c], floor, spare)
                _combine(before[b], own, 0, before[b + 1])
                continue
            _take_in(running, own, 0)
            if gains[c] > -np.inf:
                gains[c] += _zscore_gain(running, left[c], floor, spare)
            for group in range(1, copies):
                if gains[c + group] > -np.inf:
                    _combine(running, states[group], 0, side)
                    gains[c + group] += _zscore_gain(side, left[c + group], floor, spare)
        running = np.zeros(width)
        for b in range(n_own - 1, -1, -1):
            c = out + b * copies
            last = c + copies - 1  # where missing values, if there are any, go left
            if gains[last] > -np.inf and not one_bin:
                gains[last] += _zscore_gain(running, right[last], floor, spare)
            if gains[c] > -np.inf and one_bin:
                _combine(running, before[b], 0, side)
                gains[c] += _zscore_gain(side, right[c], floor, spare)
            for group in range(copies - 1):
                if gains[c + group] > -np.inf:
                    _combine(running, states[copies - 1 - group], 0, side)
                    gains[c + group] += _zscore_gain(side, right[c + group], floor, spare)
            _take_in(running, moments[first + b], 0)
        out += n_own * copies


@kernel
def _zscore_gain(moments, vector, floor, of_column):
    """``|g|^2 / |S|`` of one side: g by weights of columns of mean 0 and standard deviation 1."""
    n_outputs, n = vector.shape[0] - 1, floor.shape[0]
    weight = vector[n_outputs]
    share = 1.0 / weight if weight > 0 else 0.0
    of_weight = moments[n_outputs * n : (n_outputs + 1) * n]
    squares = moments[(n_outputs + 1) * n :]
    gain = 0.0
    for k in range(n_outputs):
        slope, of_output = vector[k], moments[k * n : (k + 1) * n]
        for j in range(n):
            mean = of_weight[j] * share
            variance = squares[j] * share - mean * mean
            own = of_output[j] - mean * slope
            # The square of a tiny number would be 0; a column that is constant has no part.
            of_column[j] = own * (own / (variance if variance > floor[j] else np.inf))
        gain += slope * slope + _total(of_column)
    return gain * share


@in_any_order
def _total(values):
    total = 0.0
    for j in range(values.shape[0]):  # several at a time
        total += values[j]
    return total

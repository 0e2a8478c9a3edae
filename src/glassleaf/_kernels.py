"""Tight loops. Arrays in, arrays out; no Python objects.

Every kernel is compiled once per machine (``cache=True``) and releases the GIL, so that threads
may run it side by side. Conventions:

* ``ptr, idx`` (and ``val``, empty when every stored value is 1) are the usual compressed rows;
* a *block* of split features is stored the same way: row i lies in the bins
  ``block_bins[block_ptr[i]:block_ptr[i + 1]]`` of the block;
* indices are unsigned where it matters: numba need not test them for being negative.
"""

from __future__ import annotations

import logging

import numba
import numpy as np

from glassleaf._vectors import LANES, MOST_GROUPS, add_rows
from glassleaf.startup import without_collection

_log = logging.getLogger("glassleaf")

# exp() of anything larger overflows; a raw score this extreme is already a certain event.
LARGEST_EXPONENT = 500.0


def _kernel(function):
    # numpy's error model: a division needs no test for zero, so that loops can be vectorized.
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def _arithmetic(function):
    # A product that is added at once need not be rounded in between.
    options = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    return numba.njit(**options)(function)


# --- learning the bins -------------------------------------------------------------------------


@_kernel
def assign_bins(values, upper, missing_bin, out):
    """Bin of every value: the first whose upper bound is not below it; NaN: ``missing_bin``.

    Many binary searches in step, without branches that depend on the values: a processor cannot
    guess those, and the searches do not wait for each other's memory.
    """
    size = 1
    while size < upper.shape[0]:
        size *= 2
    padded = np.empty(size)
    for k in range(size):
        padded[k] = upper[k] if k < upper.shape[0] else np.inf
    one = np.uint64(1)
    found = np.empty(64, dtype=np.uint64)
    for first in range(0, values.shape[0], 64):
        here = min(64, values.shape[0] - first)
        for k in range(here):
            found[k] = 0
        half = size >> 1
        while half > 0:
            step = np.uint64(half)
            for k in range(here):
                bin_ = found[k]
                is_above = padded[bin_ + step - one] < values[first + k]
                found[k] = bin_ + step if is_above else bin_
            half >>= 1
        for k in range(here):
            out[first + k] = missing_bin if np.isnan(values[first + k]) else found[k]


# Numbers of 64 bits are sorted by so many bits at a time, counts of which stay in the cache.
_DIGIT_BITS = 11
_LARGEST_DIGIT = np.uint64((1 << _DIGIT_BITS) - 1)
_SIGN_BIT = np.uint64(1 << 63)


@_kernel
def distinct_values(values, weight, memory, distinct, total):
    """Distinct values, ascending, and the weight of each; returns their number.

    Without weights (an empty array) each value counts 1. Values are turned into whole numbers of
    the same order and sorted by their digits, the last one first. A digit that all have in common
    costs nothing, and most numbers in tables are short. ``memory`` has four lines, of any content,
    as long as the values.
    """
    n, is_weighted = values.shape[0], weight.shape[0] > 0
    key, other_key = memory[0].view(np.uint64), memory[1].view(np.uint64)
    own, other_own = memory[2], memory[3]
    place = np.empty(_LARGEST_DIGIT + np.uint64(1), dtype=np.uint64)
    bits, distinct_bits = values.view(np.uint64), distinct.view(np.uint64)
    varying, one = np.uint64(0), np.uint64(1)
    for i in range(n):
        # Both zeros become the same number, and zeros at the end stay, below zero too.
        size = bits[i] & ~_SIGN_BIT
        key[i] = _SIGN_BIT - size if bits[i] & _SIGN_BIT else _SIGN_BIT + size
        varying |= key[i] ^ key[0]
        if is_weighted:
            own[i] = weight[i]
    for first_bit in range(0, 64, _DIGIT_BITS):
        shift = np.uint64(first_bit)
        if (varying >> shift) & _LARGEST_DIGIT == 0:
            continue
        place[:] = 0
        for i in range(n):
            place[(key[i] >> shift) & _LARGEST_DIGIT] += one
        before = np.uint64(0)
        for digit in range(place.shape[0]):
            count = place[digit]
            place[digit] = before
            before += count
        for i in range(n):
            digit = (key[i] >> shift) & _LARGEST_DIGIT
            other_key[place[digit]] = key[i]
            if is_weighted:
                other_own[place[digit]] = own[i]
            place[digit] += one
        key, other_key, own, other_own = other_key, key, other_own, own
    found, begin, running = 0, 0, 0.0
    for i in range(n):
        if is_weighted:
            running += own[i]
        if i == n - 1 or key[i] != key[i + 1]:
            is_negative = key[i] < _SIGN_BIT
            size = _SIGN_BIT - key[i] if is_negative else key[i] - _SIGN_BIT
            distinct_bits[found] = _SIGN_BIT | size if is_negative else size
            total[found] = running if is_weighted else np.float64(i + 1 - begin)
            found, begin, running = found + 1, i + 1, 0.0
    return found


@_kernel
def merge_values(mine, my_weight, its, its_weight, values, weight):
    """Two ascending arrays of distinct values as one, weights added; returns their number."""
    i, j, n = 0, 0, 0
    while i < mine.shape[0] or j < its.shape[0]:
        if j == its.shape[0] or (i < mine.shape[0] and mine[i] < its[j]):
            values[n], weight[n] = mine[i], my_weight[i]
            i += 1
        elif i == mine.shape[0] or its[j] < mine[i]:
            values[n], weight[n] = its[j], its_weight[j]
            j += 1
        else:
            values[n], weight[n] = mine[i], my_weight[i] + its_weight[j]
            i += 1
            j += 1
        n += 1
    return n


@_kernel
def put_together(values, weight, slice_weight, kept, total):
    """Put neighbours together that lie in the same slice of the weight; returns how many are left.

    A value that crosses the border of a slice stays alone. Each is named by its largest value.
    """
    n, end, before, after = 0, 0.0, -1.0, -1.0
    for i in range(values.shape[0]):
        first = np.floor(end / slice_weight)
        end += weight[i]
        last = np.ceil(end / slice_weight)
        if first != before or last != after:
            total[n] = 0.0
            n += 1
        kept[n - 1] = values[i]
        total[n - 1] += weight[i]
        before, after = first, last
    return n


@_kernel
def append_entries(rows, indices, values, position, out_idx, out_val):
    """Write one column's entries into compressed rows; ``position`` is each row's next slot."""
    has_values = out_val.shape[0] > 0
    for e in range(rows.shape[0]):
        slot = position[rows[e]]
        position[rows[e]] = slot + 1
        out_idx[slot] = indices[e]
        if has_values:
            out_val[slot] = values[e]


@_kernel
def take_rows(ptr, idx, val, start, order, out_ptr, out_idx, out_val):
    """Compressed rows ``start + order`` of (ptr, idx, val), in that order."""
    has_values = val.shape[0] > 0
    slot = 0
    out_ptr[0] = 0
    for k in range(order.shape[0]):
        row = start + order[k]
        for e in range(ptr[row], ptr[row + 1]):
            out_idx[slot] = idx[e]
            if has_values:
                out_val[slot] = val[e]
            slot += 1
        out_ptr[k + 1] = slot


@_kernel
def find_segments(block_ptr, block_bins, start, stop, segment_of_bin, first_bin, default, out):
    """Segment of every row of a node, from the bins of one feature of a block."""
    n_bins = segment_of_bin.shape[0]
    for i in range(start, stop):
        segment = default
        for e in range(block_ptr[i], block_ptr[i + 1]):
            bin_ = np.int64(block_bins[e]) - first_bin
            if 0 <= bin_ < n_bins:
                segment = segment_of_bin[bin_]
                break
        out[i - start] = segment


# --- sums per bin: the split search --------------------------------------------------------------


@_kernel
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


@_kernel
def sum_one_output(block_ptr, block_bins, vectors, dense, start, stop, count, values, moments):
    """``sum_values`` and ``sum_dense`` for vectors of one output, and with squares.

    This is by far the commonest. The entries of some rows are sorted by their bin: what is added to
    a bin is then summed in registers, and written to the bin's place once.
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


# The products of so many rows stay in the processor's cache.
_KEPT_ROWS = 128
# Numbers that one round of a vectorized loop adds; what is left over costs as much as a round each.
_LOOP_LENGTH = 16


def row_length(n_products: int, n_columns: int, width: int) -> int:
    """Length of all that a row adds to a bin in ``sum_uniform``."""
    return -(-(n_products * n_columns + width + 1) // _LOOP_LENGTH) * _LOOP_LENGTH


@_kernel
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


@_kernel
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


@_kernel
def sum_sparse(block_ptr, block_bins, vectors, ptr, idx, val, start, stop, total, moments, n_dense):
    """The same as ``sum_dense`` for compressed columns, which come after the dense ones.

    They are collected in ``total``, indexed [b, column, k], where what is added to at the same time
    lies together. With values other than 1 it has room for the weighted squares; indicators are
    their own squares.
    """
    width = vectors.shape[1]
    are_plain = val.shape[0] == 0 and width == 2  # indicators and one output: by far the commonest
    n_bins, n_entries = block_ptr[stop] - block_ptr[start], ptr[stop] - ptr[start]
    # The longer of two loops is the inner one: a processor seldom fails to guess its end.
    if are_plain and n_bins > n_entries:
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


@_kernel
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


@_kernel
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


@_kernel
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


@_kernel
def combine_sides(table, first_bin, n_values, is_categorical, has_missing, operation, left, right):
    """Both sides of every candidate of a block, from the statistics of its bins.

    ``operation`` 0 adds, 1 takes the smallest, 2 the largest. Candidates come feature by feature
    and bin by bin; see ``search`` for which there are. Nothing is ever subtracted.
    """
    nothing = 0.0 if operation == 0 else (np.inf if operation == 1 else -np.inf)
    running, none = np.empty(table.shape[1]), np.empty(table.shape[1])
    for j in range(none.shape[0]):
        none[j] = nothing
    out = 0
    for feature in range(first_bin.shape[0]):
        first, missing = first_bin[feature], first_bin[feature] + n_values[feature]
        one_bin = is_categorical[feature]
        copies = 2 if has_missing[feature] and not one_bin else 1
        n_own = n_values[feature] + 1 if one_bin else n_values[feature]
        _combine(none, none, operation, running)
        for b in range(n_own):  # forwards: the left sides, or all bins before this one
            c = out + b * copies
            if one_bin:
                _combine(table[first + b], none, operation, left[c])
                _combine(running, none, operation, right[c])
            _take_in(running, table[first + b], operation)
            if not one_bin:
                _combine(running, none, operation, left[c])
            if copies == 2:
                _combine(running, table[missing], operation, left[c + 1])
        _combine(none, none, operation, running)
        for b in range(n_own - 1, -1, -1):  # backwards: all bins after this one
            c = out + b * copies
            if one_bin:
                _take_in(right[c], running, operation)
            else:
                _combine(running, none, operation, right[c + copies - 1])
            if copies == 2:
                _combine(running, table[missing], operation, right[c])
            _take_in(running, table[first + b], operation)
        out += n_own * copies


@_kernel
def _combine(one, other, operation, out):
    for j in range(out.shape[0]):
        if operation == 0:
            out[j] = one[j] + other[j]
        elif operation == 1:
            out[j] = min(one[j], other[j])
        else:
            out[j] = max(one[j], other[j])


@_kernel
def _take_in(total, more, operation):
    # ``_combine`` would be several times slower: the compiler must not see one array twice.
    for j in range(total.shape[0]):
        if operation == 0:
            total[j] += more[j]
        elif operation == 1:
            total[j] = min(total[j], more[j])
        else:
            total[j] = max(total[j], more[j])


@_kernel
def zscore_gains(
    moments, left, right, first_bin, n_values, is_categorical, has_missing, floor, gains
):
    """Equation 6 for every candidate of ``combine_sides``, each side in the units of equation 14.

    Nothing is kept of the sides, whose columns would fill much memory: to ``gains`` is added the
    gain of the left one and, on the way back, that of the right one. A candidate whose gain is
    minus infinity already is not looked at. ``moments`` has the products of vectors and columns,
    then the squares, side by side; ``left`` and ``right`` are the sums of the vectors on the two
    sides.
    """
    n_columns, width = floor.shape[0], moments.shape[1]
    side, spare = np.empty(width), np.empty(n_columns)
    out = 0
    for feature in range(first_bin.shape[0]):
        first, missing = first_bin[feature], first_bin[feature] + n_values[feature]
        one_bin = is_categorical[feature]
        copies = 2 if has_missing[feature] and not one_bin else 1
        n_own = n_values[feature] + 1 if one_bin else n_values[feature]
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
            if copies == 2 and gains[c + 1] > -np.inf:
                _combine(running, moments[missing], 0, side)
                gains[c + 1] += _zscore_gain(side, left[c + 1], floor, spare)
        running = np.zeros(width)
        for b in range(n_own - 1, -1, -1):
            c = out + b * copies
            last = c + copies - 1  # where missing values, if there are any, go left
            if gains[last] > -np.inf and not one_bin:
                gains[last] += _zscore_gain(running, right[last], floor, spare)
            if gains[c] > -np.inf and (one_bin or copies == 2):
                _combine(running, before[b] if one_bin else moments[missing], 0, side)
                gains[c] += _zscore_gain(side, right[c], floor, spare)
            _take_in(running, moments[first + b], 0)
        out += n_own * copies


@_kernel
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


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def _total(values):
    total = 0.0
    for j in range(values.shape[0]):  # in any order: several at a time
        total += values[j]
    return total


# --- losses of one output: value, first and second derivative of every row ---------------------


@_kernel
def squared_error(y, raw, value, slope, curvature):
    for i in range(y.shape[0]):
        residual = raw[i] - y[i]
        value[i] = 0.5 * residual * residual
        slope[i] = residual
        curvature[i] = 1.0


@_kernel
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


@_arithmetic
def _exponentials(x, sign, out):
    """exp(sign * x), which may be large but never overflows."""
    for i in range(x.shape[0]):
        out[i] = _exp_of_near(sign * x[i])
    for i in range(x.shape[0]):
        if abs(x[i]) > _NEAR:
            out[i] = np.exp(min(sign * x[i], LARGEST_EXPONENT))


@_arithmetic
def poisson(y, raw, value, slope, curvature):
    _exponentials(raw, 1.0, curvature)
    for i in range(y.shape[0]):
        value[i] = curvature[i] - y[i] * raw[i]
        slope[i] = curvature[i] - y[i]
    for i in range(y.shape[0]):
        if y[i] > 0:
            value[i] += y[i] * np.log(y[i]) - y[i]


@_arithmetic
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


@_arithmetic
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


@_arithmetic
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


# --- sums per node: the weak models ----------------------------------------------------------


@_kernel
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


@_kernel
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


@_kernel
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


@_kernel
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


@_kernel
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


@_kernel
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


@_arithmetic
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


@_arithmetic
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


@_kernel
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


@_kernel
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


@_kernel
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


# --- the finished tree -----------------------------------------------------------------------


@_kernel
def find_leaves(
    X, feature, threshold, left, right, missing_left, unknown_left, first_category, categories, out
):
    """Leaf of every row of a raw matrix (categories as codes, NaN missing, -1 unknown)."""
    for i in range(X.shape[0]):
        node = 0
        while left[node] >= 0:
            x = X[i, feature[node]]
            if np.isnan(x):
                to_left = missing_left[node]
            elif first_category[node] < 0:
                to_left = x <= threshold[node]
            elif x < 0:
                to_left = unknown_left[node]
            else:
                to_left = categories[first_category[node] + np.int64(x)]
            node = left[node] if to_left else right[node]
        out[i] = node


@_kernel
def interpolate(x, first, last, point_x, point_z):
    """The piecewise linear function through points ``first`` to ``last`` (exclusive)."""
    if x <= point_x[first]:
        return point_z[first]
    for k in range(first + 1, last):
        if x < point_x[k]:
            share = (x - point_x[k - 1]) / (point_x[k] - point_x[k - 1])
            return point_z[k - 1] + share * (point_z[k] - point_z[k - 1])
    return point_z[last - 1]


@_kernel
def interpolate_all(values, point_x, point_z, out):
    """``interpolate`` of every value, through all points; missing values stay missing."""
    last = point_x.shape[0] - 1
    piece = np.empty(values.shape[0], dtype=np.uint16)
    assign_bins(values, point_x, 0, piece)
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


@_kernel
def sum_terms(
    X, nodes, coef, intercept, low, high, first_term, is_category, missing_term, fill,
    curve_term, first_point, point_x, point_z, out,
):  # fmt: skip
    """Raw prediction of every row under the model of its node, straight from the tree's arrays."""
    n_outputs = coef.shape[1]
    for i in range(X.shape[0]):
        node = nodes[i]
        for k in range(n_outputs):
            raw = 0.0
            for column in range(X.shape[1]):
                x = X[i, column]
                term = first_term[column]
                is_missing = np.isnan(x)
                if is_missing and missing_term[column] >= 0:
                    raw += coef[node, k, missing_term[column]]
                if term < 0:
                    continue
                if not is_category[column]:
                    value = fill[column] if is_missing else x
                    value = min(max(value, low[node, column]), high[node, column])
                    raw += coef[node, k, term] * value
                    curve = curve_term[column]
                    if curve >= 0 and coef[node, k, curve] != 0.0:
                        raw += coef[node, k, curve] * interpolate(
                            value, first_point[column], first_point[column + 1], point_x, point_z
                        )
                elif x >= 0:
                    raw += coef[node, k, term + np.int64(x)]
            out[i, k] = raw + intercept[node, k]


def prepare() -> None:
    """On the first run on a machine, compile what nearly every fit needs, and say so.

    Later runs load each kernel from the cache when it is first called. The rest, such as the losses
    that few ask for, takes a fraction of a second each, when it is first needed.
    """
    if _prepared:
        return
    _prepared.append(True)
    with without_collection():
        assign_bins(np.ones(1), np.ones(1), 1, np.zeros(1, dtype=np.uint16))
    if not numba.config.DISABLE_JIT and assign_bins.stats.cache_misses:
        _log.warning(
            "glassleaf compiles its kernels, once for this installation (some 15 seconds);"
            " later runs load them from the cache."
        )
        _compile_most()


_prepared: list[bool] = []


def _compile_most() -> None:
    ptr = np.array([0, 1], dtype=np.int64)
    idx = np.zeros(1, dtype=np.uint32)
    bins = np.zeros(1, dtype=np.uint16)
    one, none = np.ones(1), np.zeros(0)
    table = np.ones((1, 1))

    distinct_values(one, one, np.ones((4, 1)), one.copy(), one.copy())
    rows = np.zeros(1, dtype=np.int64)
    append_entries(rows, idx, one, rows.copy(), idx.copy(), one.copy())
    append_entries(rows, idx.astype(np.uint16), one, rows.copy(), bins.copy(), none)
    take_rows(ptr, idx, one, 0, rows, ptr.copy(), idx.copy(), one.copy())
    take_rows(ptr, bins, none, 0, rows, ptr.copy(), bins.copy(), none)
    segments = np.zeros(1, dtype=np.uint16)
    find_segments(ptr, bins, 0, 1, segments, 0, 0, segments.copy())
    count = np.zeros(1, dtype=np.int64)
    both = np.ones((1, 2))
    sums = np.zeros((1, 3, 1))
    sum_one_output(ptr, bins, both, table, 0, 1, count, both.copy(), sums)
    sum_sparse(ptr, bins, both, ptr, idx, none, 0, 1, np.zeros((1, 1, 2)), sums, 0)
    no_group = np.zeros(1, dtype=np.int64)
    fill_complements(table, 1, rows[:0], no_group, one)
    of_feature, flags = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    combine_sides(table, of_feature, of_feature + 1, flags, flags, 0, table.copy(), table.copy())
    zscore_gains(
        np.ones((1, 3)), both, both, of_feature, of_feature + 1, flags, flags, one, one.copy()
    )
    ranges_dense(ptr, bins, table, 0, 1, table.copy(), table.copy())
    counts = np.zeros((1, 1), dtype=np.int64)
    ranges_sparse(ptr, bins, ptr, idx, one, 0, 1, counts, table.copy(), table.copy())
    squared_error(one, one, one.copy(), one.copy(), one.copy())
    binary_log_loss(one, one, 1.0, one.copy(), one.copy(), one.copy())
    gram = np.ones((1, 3, 3))
    standardize_grams(gram, 1, rows[:0], no_group, both, both, gram.copy())
    sum_moments(table, ptr, idx, one, one, 0, 1, np.zeros((2, 2)))
    predict_raw(table, ptr, idx, one, np.ones((1, 2)), one, 0, 1, table.copy())
    sum_columns(table, ptr, idx, one, table, 0, 1, np.ones((1, 3)))
    sum_log_loss(
        table, ptr, idx, one, one, one, both, one, 1.0, 0, 1, np.ones((1, 3)), table.copy()
    )
    scale_rows(table, one, 0, 1, both.copy())
    sum_sparse_gram(ptr, idx, one, table, one, 0, 1, np.ones((3, 3)))
    leaf = np.full(1, -1, dtype=np.int32)
    flag, first = np.zeros(1, dtype=np.bool_), np.full(1, -1, dtype=np.int64)
    find_leaves(table, leaf, one, leaf, leaf, flag, flag, first, flag, np.zeros(1, np.int64))
    interpolate(1.0, 0, 1, one, one)
    interpolate_all(one, one, one, one.copy())
    no_points = np.zeros(2, dtype=np.int64)
    sum_terms(
        table, first + 1, np.zeros((1, 1, 1)), table, table, table, first, flag, first, one, first,
        no_points, none, none, table.copy(),
    )  # fmt: skip

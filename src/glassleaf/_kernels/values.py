"""Values of columns: distinct ones, bins, compressed rows of them."""

from __future__ import annotations

import numpy as np

from glassleaf._kernels.compiling import kernel


@kernel
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


# Numbers of 64 bits are sorted by this many bits at a time, whose counts stay in the cache.
_DIGIT_BITS = 11
_N_DIGITS = 1 << _DIGIT_BITS
_DIGIT = np.uint64(_N_DIGITS - 1)  # the last bits of a number
_SIGN_BIT = np.uint64(1 << 63)


@kernel
def distinct_values(values, weight, memory, distinct, total):
    """Distinct values, ascending, and the weight of each; returns their number.

    Without weights (an empty array) each value counts 1. Values are turned into whole numbers of
    the same order and sorted by their digits, the last one first. A digit that all have in common
    costs nothing, and most numbers in tables are short. ``memory`` has four lines, of any content,
    as long as the values.
    """
    n, is_weighted = values.shape[0], weight.shape[0] > 0
    key, other_key = memory[0].view(np.uint64), memory[1].view(np.uint64)
    own_weight, other_weight = memory[2], memory[3]
    place = np.empty(_N_DIGITS, dtype=np.uint64)
    bits, distinct_bits = values.view(np.uint64), distinct.view(np.uint64)
    varying, one = np.uint64(0), np.uint64(1)
    for i in range(n):
        # Numbers below zero count down from the middle. So both zeros are the same number, and
        # what ends with zero bits still does, whatever its sign.
        magnitude = bits[i] & ~_SIGN_BIT
        key[i] = _SIGN_BIT - magnitude if bits[i] & _SIGN_BIT else _SIGN_BIT + magnitude
        varying |= key[i] ^ key[0]
        if is_weighted:
            own_weight[i] = weight[i]
    for first_bit in range(0, 64, _DIGIT_BITS):
        shift = np.uint64(first_bit)
        if (varying >> shift) & _DIGIT == 0:
            continue
        place[:] = 0
        for i in range(n):
            place[(key[i] >> shift) & _DIGIT] += one
        before = np.uint64(0)
        for digit in range(place.shape[0]):
            count = place[digit]
            place[digit] = before
            before += count
        for i in range(n):
            digit = (key[i] >> shift) & _DIGIT
            other_key[place[digit]] = key[i]
            if is_weighted:
                other_weight[place[digit]] = own_weight[i]
            place[digit] += one
        key, other_key = other_key, key
        own_weight, other_weight = other_weight, own_weight
    found, begin, running = 0, 0, 0.0
    for i in range(n):
        if is_weighted:
            running += own_weight[i]
        if i == n - 1 or key[i] != key[i + 1]:
            is_negative = key[i] < _SIGN_BIT
            magnitude = _SIGN_BIT - key[i] if is_negative else key[i] - _SIGN_BIT
            distinct_bits[found] = _SIGN_BIT | magnitude if is_negative else magnitude
            total[found] = running if is_weighted else np.float64(i + 1 - begin)
            found, begin, running = found + 1, i + 1, 0.0
    return found


@kernel
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


@kernel
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


@kernel
def append_entries(rows, indices, values, position, out_idx, out_val):
    """Write one column's entries into compressed rows; ``position`` is each row's next slot."""
    has_values = out_val.shape[0] > 0
    for e in range(rows.shape[0]):
        slot = position[rows[e]]
        position[rows[e]] = slot + 1
        out_idx[slot] = indices[e]
        if has_values:
            out_val[slot] = values[e]


@kernel
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


@kernel
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

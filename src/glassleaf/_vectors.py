"""Vector instructions where a compiler will not write them itself.

A loop over the columns of a row is short. The compiler's own vectorized loops take sixteen numbers
at a time, the rest one by one, and first test whether the arrays overlap; with six or twenty
columns that costs more than the additions. And no compiler keeps the sums of sixteen columns in
registers while it goes over rows.

numba looks only at ``_kernels`` to see whether what it compiled is still valid: after a change
here, touch that file.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Numbers that are added at once, and so many times that: what registers hold of three kinds of sums.
LANES = 4
MOST_GROUPS = 4

_INTEGER = ir.IntType(64)
_LANES = ir.VectorType(ir.DoubleType(), LANES)
# A product that is added at once need not be rounded in between.
_FUSED = ("contract",)


def _add_rows_plain(
    sums: Any,
    place: int,
    dense: Any,
    vectors: Any,
    rows: Any,
    begin: int,
    end: int,
    first: int,
    n_groups: int,
    n_skipped: int,
) -> None:
    """Add output * x, weight * x and weight * x^2 of some columns x and of rows[begin:end].

    There is at least one row.
    ``vectors`` holds output and weight of every row, ``sums`` the three kinds of sums. The columns
    are ``n_groups`` times LANES from ``first`` on. ``n_skipped`` of the last group lie before the
    others, or were added already: the group is moved to the left by so many, that it may end with
    the row, and these are left alone.
    """
    last = first + n_groups * LANES - n_skipped
    for row in rows[begin:end]:
        output, weight = vectors[row]
        x = dense[row, first:last]
        sums[place, 0, first:last] += output * x
        sums[place, 1, first:last] += weight * x
        sums[place, 2, first:last] += weight * x * x


@intrinsic
def _add_rows_in_registers(
    _context, sums, place, dense, vectors, rows, begin, end, first, n_groups, n_skipped
):
    table = types.Array(types.float64, 2, "C")
    arrays = (sums, dense, vectors, rows)
    if arrays != (table.copy(ndim=3), table, table, types.Array(types.uint32, 1, "C")):
        raise numba.errors.TypingError(
            "add_rows takes sums and tables of floats, and the numbers of rows, not "
            + ", ".join(map(str, arrays))
        )
    integers = (place, begin, end, first, n_groups, n_skipped)
    if set(integers) != {types.int64}:
        raise numba.errors.TypingError(f"add_rows takes places as int64, not {integers}")
    signature = types.void(
        sums, place, dense, vectors, rows, begin, end, first, n_groups, n_skipped
    )

    def generate(context, builder, signature, given):
        arrays = [
            context.make_array(signature.args[k])(context, builder, given[k]) for k in (0, 2, 3, 4)
        ]
        done = builder.append_basic_block("done")
        cases = [(k, builder.append_basic_block(f"groups{k}")) for k in range(1, MOST_GROUPS + 1)]
        place, (begin, end, first, n_groups, n_skipped) = given[1], given[5:]
        choice = builder.switch(n_groups, done)
        for k, block in cases:
            choice.add_case(ir.Constant(_INTEGER, k), block)
            builder.position_at_end(block)
            _add_groups(builder, k, arrays, place, begin, end, first, n_skipped)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate


def _add_groups(builder, n_groups, arrays, bin_, begin, end, first, n_skipped):
    """The rows' loop for a fixed number of groups, whose sums stay in registers."""
    sums, dense, vectors, rows = arrays
    n_sums, n_columns = builder.extract_value(sums.shape, 2), builder.extract_value(dense.shape, 1)
    starts = [builder.add(first, ir.Constant(_INTEGER, LANES * k)) for k in range(n_groups)]
    starts[-1] = builder.sub(starts[-1], n_skipped)
    zero = ir.Constant(_LANES, [0.0] * LANES)

    before = builder.block
    loop, after = builder.append_basic_block("rows"), builder.append_basic_block("rows_done")
    builder.branch(loop)
    builder.position_at_end(loop)
    place = builder.phi(_INTEGER)
    place.add_incoming(begin, before)
    running = [builder.phi(_LANES) for _ in range(3 * n_groups)]
    row = builder.zext(builder.load(builder.gep(rows.data, [place])), _INTEGER)
    vector = builder.gep(vectors.data, [builder.shl(row, ir.Constant(_INTEGER, 1))])
    output = _in_all_lanes(builder, builder.load(vector))
    one = ir.Constant(_INTEGER, 1)
    weight = _in_all_lanes(builder, builder.load(builder.gep(vector, [one])))
    offset = builder.mul(row, n_columns)
    total = []
    for start in starts:
        address = _lanes_at(builder, dense.data, builder.add(offset, start))
        x = builder.load(address, align=8)
        weighted = builder.fmul(weight, x, flags=_FUSED)
        products = (
            builder.fmul(output, x, flags=_FUSED),
            weighted,
            builder.fmul(weighted, x, flags=_FUSED),
        )
        for product in products:
            total.append(builder.fadd(running[len(total)], product, flags=_FUSED))
    following = builder.add(place, one)
    place.add_incoming(following, loop)
    for own, new in zip(running, total, strict=True):
        own.add_incoming(zero, before)
        own.add_incoming(new, loop)
    builder.cbranch(builder.icmp_signed("<", following, end), loop, after)

    builder.position_at_end(after)
    lane = ir.Constant(ir.VectorType(_INTEGER, LANES), list(range(LANES)))
    counts = builder.icmp_signed(">=", lane, _in_all_lanes(builder, n_skipped))
    for k, found in enumerate(total):
        group, kind = divmod(k, 3)
        added = builder.select(counts, found, zero) if group == n_groups - 1 else found
        line = builder.add(builder.mul(bin_, ir.Constant(_INTEGER, 3)), ir.Constant(_INTEGER, kind))
        at = builder.add(builder.mul(line, n_sums), starts[group])
        address = _lanes_at(builder, sums.data, at)
        builder.store(builder.fadd(builder.load(address, align=8), added), address, align=8)


def _lanes_at(builder, numbers, index):
    return builder.bitcast(builder.gep(numbers, [index]), _LANES.as_pointer())


def _in_all_lanes(builder, number):
    kind = ir.VectorType(number.type, LANES)
    undefined = ir.Constant(kind, ir.Undefined)
    places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    one = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, places)


add_rows = _add_rows_plain if numba.config.DISABLE_JIT else _add_rows_in_registers

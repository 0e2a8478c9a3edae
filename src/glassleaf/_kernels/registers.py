"""Vector instructions where a compiler will not write them itself.

No compiler keeps the sums of sixteen columns in registers while it goes over rows: it does not
know how many columns there are. So there is a loop over rows for one group of columns, for two,
three and four.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Numbers that are added at once, and how many such groups: three sums of each, and what is added to
# them, fill the sixteen registers of AVX2. A processor with smaller ones is slower, not wrong.
LANES = 4
MOST_GROUPS = 4

_INTEGER = ir.IntType(64)
_GROUP = ir.VectorType(ir.DoubleType(), LANES)
# A product that is added at once need not be rounded in between.
_FUSED = ("contract",)


def _add_rows_plain(
    sums: Any,
    bin_: int,
    dense: Any,
    vectors: Any,
    rows: Any,
    begin: int,
    end: int,
    first: int,
    n_columns: int,
) -> None:
    """Add output * x, weight * x and weight * x^2 of some columns x and of ``rows[begin:end]``.

    There is at least one row. ``vectors`` holds output and weight of every row, ``sums[bin_]`` the
    three kinds of sums. The columns are ``n_columns`` from ``first`` on, at most LANES times
    MOST_GROUPS; those of the table up to there are at least LANES.
    """
    here = slice(first, first + n_columns)
    for row in rows[begin:end]:
        output, weight = vectors[row]
        x = dense[row, here]
        sums[bin_, 0, here] += output * x
        sums[bin_, 1, here] += weight * x
        sums[bin_, 2, here] += weight * x * x


@intrinsic
def _add_rows_in_registers(
    _context, sums, bin_, dense, vectors, rows, begin, end, first, n_columns
):
    table = types.Array(types.float64, 2, "C")
    arrays = (sums, dense, vectors, rows)
    if arrays != (table.copy(ndim=3), table, table, types.Array(types.uint32, 1, "C")):
        raise numba.errors.TypingError(
            "add_rows takes sums and tables of floats, and the numbers of rows, not "
            + ", ".join(map(str, arrays))
        )
    numbers = (bin_, begin, end, first, n_columns)
    if set(numbers) != {types.int64}:
        raise numba.errors.TypingError(f"add_rows takes places as int64, not {numbers}")
    signature = types.void(sums, bin_, dense, vectors, rows, begin, end, first, n_columns)

    def generate(context, builder, signature, given):
        tables = [
            context.make_array(signature.args[k])(context, builder, given[k]) for k in (0, 2, 3, 4)
        ]
        bin_, (begin, end, first, n_columns) = given[1], given[5:]
        lanes = _number(LANES)
        n_groups = builder.udiv(builder.add(n_columns, _number(LANES - 1)), lanes)
        n_over = builder.sub(builder.mul(n_groups, lanes), n_columns)
        done = builder.append_basic_block("done")
        choice = builder.switch(n_groups, done)
        for k in range(1, MOST_GROUPS + 1):
            block = builder.append_basic_block(f"groups{k}")
            choice.add_case(_number(k), block)
            builder.position_at_end(block)
            _add_groups(builder, k, n_over, tables, bin_, begin, end, first)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate


def _add_groups(builder, n_groups, n_over, tables, bin_, begin, end, first):
    """The loop over rows for a fixed number of groups of columns.

    The last group is moved to the left by ``n_over`` columns, so that it ends with the others; its
    sums of these columns are left out.
    """
    sums, dense, vectors, rows = tables
    n_kinds, sums_width = (builder.extract_value(sums.shape, axis) for axis in (1, 2))
    dense_width, vector_width = (builder.extract_value(own.shape, 1) for own in (dense, vectors))
    starts = [builder.add(first, _number(LANES * k)) for k in range(n_groups)]
    starts[-1] = builder.sub(starts[-1], n_over)
    nothing = ir.Constant(_GROUP, [0.0] * LANES)

    before = builder.block
    loop, after = builder.append_basic_block("rows"), builder.append_basic_block("rows_done")
    builder.branch(loop)
    builder.position_at_end(loop)
    place = builder.phi(_INTEGER)
    running = [builder.phi(_GROUP) for _ in range(3 * n_groups)]
    row = builder.zext(builder.load(builder.gep(rows.data, [place])), _INTEGER)
    vector = builder.gep(vectors.data, [builder.mul(row, vector_width)])
    output = _in_all_lanes(builder, builder.load(vector))
    weight = _in_all_lanes(builder, builder.load(builder.gep(vector, [_number(1)])))
    offset = builder.mul(row, dense_width)
    total = []
    for start in starts:
        x = builder.load(_group_at(builder, dense, builder.add(offset, start)), align=8)
        weighted = builder.fmul(weight, x, flags=_FUSED)
        of_output = builder.fmul(output, x, flags=_FUSED)
        of_square = builder.fmul(weighted, x, flags=_FUSED)
        for product in (of_output, weighted, of_square):
            total.append(builder.fadd(running[len(total)], product, flags=_FUSED))
    following = builder.add(place, _number(1))
    place.add_incoming(begin, before)
    place.add_incoming(following, loop)
    for own, new in zip(running, total, strict=True):
        own.add_incoming(nothing, before)
        own.add_incoming(new, loop)
    builder.cbranch(builder.icmp_signed("<", following, end), loop, after)

    builder.position_at_end(after)
    lane = ir.Constant(ir.VectorType(_INTEGER, LANES), list(range(LANES)))
    is_new = builder.icmp_signed(">=", lane, _in_all_lanes(builder, n_over))
    for k, found in enumerate(total):
        group, kind = divmod(k, 3)
        if group == n_groups - 1:
            found = builder.select(is_new, found, nothing)
        line = builder.add(builder.mul(bin_, n_kinds), _number(kind))
        at = builder.add(builder.mul(line, sums_width), starts[group])
        address = _group_at(builder, sums, at)
        builder.store(builder.fadd(builder.load(address, align=8), found), address, align=8)


def _number(value):
    return ir.Constant(_INTEGER, value)


def _group_at(builder, array, index):
    return builder.bitcast(builder.gep(array.data, [index]), _GROUP.as_pointer())


def _in_all_lanes(builder, number):
    undefined = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    one = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, places)


add_rows = _add_rows_plain if numba.config.DISABLE_JIT else _add_rows_in_registers

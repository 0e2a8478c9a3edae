"""Vector instructions where a compiler will not write them itself.

A loop over the columns of a row is short. The compiler's own vectorized loops take sixteen numbers
at a time, the rest one by one, and first test whether the arrays overlap; with six or twenty
columns that costs more than the additions.

numba looks only at ``_kernels`` to see whether what it compiled is still valid: after a change
here, touch that file.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Numbers that are added at once.
LANES = 4


def _add_columns_plain(
    sums: Any, step: int, x: Any, first: int, output: float, weight: float
) -> None:
    """Add output * x, weight * x and weight * x^2 of LANES columns from ``first`` on.

    ``sums`` holds the three kinds one after the other, ``step`` apart.
    """
    for j in range(first, first + LANES):
        sums[j] += output * x[j]
        sums[step + j] += weight * x[j]
        sums[2 * step + j] += weight * x[j] * x[j]


@intrinsic
def _add_columns_at_once(_context, sums, step, x, first, output, weight):
    if any(own != types.Array(types.float64, 1, "C") for own in (sums, x)):
        raise numba.errors.TypingError(f"add_columns takes rows of floats, not {sums} and {x}")
    signature = types.void(sums, step, x, first, output, weight)
    lanes = ir.VectorType(ir.DoubleType(), LANES)

    def generate(context, builder, signature, given):
        def data(place):
            return context.make_array(signature.args[place])(context, builder, given[place]).data

        def at(array, index):
            return builder.bitcast(builder.gep(array, [index]), lanes.as_pointer())

        def load(address):
            return builder.load(address, align=8)

        def in_all_lanes(number):
            undefined = ir.Constant(lanes, ir.Undefined)
            places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            one = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(one, undefined, places)

        _, step, _, first, output, weight = given
        sums = data(0)
        values = load(at(data(2), first))
        weighted = builder.fmul(in_all_lanes(weight), values)
        products = (
            builder.fmul(in_all_lanes(output), values),
            weighted,
            builder.fmul(weighted, values),
        )
        place = first
        for product in products:
            address = at(sums, place)
            builder.store(builder.fadd(load(address), product), address, align=8)
            place = builder.add(place, step)
        return context.get_dummy_value()

    return signature, generate


add_columns = _add_columns_plain if numba.config.DISABLE_JIT else _add_columns_at_once

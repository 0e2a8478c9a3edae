"""Broken lines that may only rise, or only fall: their weights as slopes.

The line of a column and its hinges, at ascending places, have coefficients that add up: beyond its
k-th hinge the column's slope is that of the line and of the first k hinges together. A sign asks
for slopes >= 0 (or <= 0), which no bounds of the coefficients themselves say. In terms of slopes it
is a bound for each, and they follow from the weights by a small triangle:

    w_0 = s_0,    w_k = r_k (s_k - s_{k-1}),

with slopes in the unit of the line's weight, and r_k the spread of hinge k over that of the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.design import Design

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Chain(NamedTuple):
    """The places of a line and its hinges among the weights, and their spreads by the line's."""

    place: Ints
    ratio: Floats


def stored_chains(design: Design, signs: NDArray[np.int8]) -> list[Ints]:
    """Of every column with a sign that bends, the stored columns of its line and its hinges."""
    terms = design.terms
    place_of = {int(term): place for place, term in enumerate(design.layout.term)}
    return [
        np.array([place_of[t] for t in (int(terms.first_term[j]), *terms.hinge_terms(j))])
        for j in terms.bent
        if signs[j]
    ]


def chains_of(places: Sequence[Ints], spread: Floats) -> tuple[Chain, ...]:
    """The chains of columns of these spreads; columns without any take no part."""
    out = []
    for place in places:
        varies = place[spread[place] > 0]
        if len(varies) > 1 and varies[0] == place[0]:
            out.append(Chain(varies, spread[varies] / spread[place[0]]))
    return tuple(out)


def kept(chains: Sequence[Chain], is_kept: NDArray[np.bool_]) -> tuple[Chain, ...]:
    """The same where only some of the weights are left; without its line, a chain is none."""
    number, out = np.cumsum(is_kept) - 1, []
    for place, ratio in chains:
        here = is_kept[place]
        if here[0] and here.sum() > 1:
            out.append(Chain(number[place[here]], ratio[here]))
    return tuple(out)


def slopes_of(weights: Floats, chains: Sequence[Chain]) -> Floats:
    """Weights with those of chains turned into slopes."""
    out = weights.copy()
    for place, ratio in chains:
        out[place] = np.cumsum(weights[place] / ratio)
    return out


def weights_of(slopes: Floats, chains: Sequence[Chain]) -> Floats:
    """The way back."""
    out = slopes.copy()
    for place, ratio in chains:
        out[place] = ratio * np.diff(slopes[place], prepend=0.0)
    return out


def by_slopes(derivative: Floats, chains: Sequence[Chain]) -> Floats:
    """Derivatives by slopes, from those by weights, on the first axis."""
    out = derivative.copy()
    for place, ratio in chains:
        own = (ratio * derivative[place].T).T
        own[:-1] -= own[1:]
        out[place] = own
    return out

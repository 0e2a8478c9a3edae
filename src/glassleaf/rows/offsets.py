"""Exposures and offsets as targets and weights: the same fit without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glassleaf.losses import Loss
from glassleaf.rows.summarize import Part
from glassleaf.tables.table import column_name
from glassleaf.tree.offset import Offset, checked


def absorbed(part: Part, offsets: Sequence[Offset], loss: Loss) -> Part:
    """A part whose targets and weights make up for what is known of the scores beforehand.

    With an exposure the target is a total: what is learned is its rate, and a row counts as much as
    it has exposure.
    """
    y, weight = part.y, part.weight
    for offset in offsets:
        name = column_name(part.table, offset.column)
        known = checked(part.table.numeric(offset.column), offset.parameter, name)
        if offset.is_exposure:
            y, weight = y / known, weight * known
        else:
            y, weight = loss.without_offset(y, weight, known)
    return replace(part, y=y, weight=weight)

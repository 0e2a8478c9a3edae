"""Exposures and offsets as targets and weights: the same fit without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.losses import Loss
from glassleaf.rows.summarize import Part
from glassleaf.tables.table import Table, column_name
from glassleaf.tree import offset
from glassleaf.tree.offset import Offset, checked

Floats = NDArray[np.float64]


def absorbed(part: Part, offsets: Sequence[Offset], loss: Loss) -> Part:
    """A part whose targets and weights make up for what is known of the scores beforehand."""
    known = [_known(part.table, own) for own in offsets]
    y, weight = offset.absorbed(part.y, part.weight, offsets, known, loss)
    return replace(part, y=y, weight=weight)


def _known(table: Table, own: Offset) -> Floats:
    return checked(table.numeric(own.column), own.parameter, column_name(table, own.column))

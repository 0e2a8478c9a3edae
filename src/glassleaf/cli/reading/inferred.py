"""What was found out about the data of a fit, whether they are in memory or streamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassleaf.cli.choices import Task
from glassleaf.cli.reading.columns import Dropped, Known
from glassleaf.cli.reading.profiles import TargetLook


@dataclass(frozen=True)
class Inferred:
    """The file, the target, and every column: what it was taken for, or why it was dropped."""

    source: str
    names: Sequence[str]
    n_rows: int
    n_skipped: int
    remark: str
    task: Task
    why: str
    advice: str
    target: TargetLook
    known: Sequence[Known]
    dropped: Sequence[Dropped]

"""Where rows live and how sums over them are added; no mathematics here.

A backend offers two verbs. ``sum(function, tasks)`` calls ``function(rows, *task)`` on every part
of the rows and adds the results of each task; with ``then``, the total is handed to
``then(task, total)`` as soon as it is there, and only what that returns is kept. ``each`` calls
functions that change only the rows' own state: their order, their units, the vectors of the next
search. Whatever is summed has a ``+``. ``work`` says roughly how
many multiplications all tasks take together: little of it is not worth spreading. ``apart`` runs
independent pieces of the driver's own work, each of which calls ``sum``; a backend whose passes
over the rows are dear hands them all to one call instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np


class Backend(Protocol):
    """Adds functions of rows over all rows; see the module's docstring."""

    def sum(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        then: Callable[[Any, Any], Any] | None = None,
        work: float = np.inf,
    ) -> list[Any]: ...

    def apart(self, function: Callable[[Sequence[Any]], None], items: Sequence[Any]) -> None: ...

    def each(self, function: Callable[..., None], tasks: Sequence[tuple[Any, ...]]) -> None: ...

"""A report on a fitted model: one web page, or Markdown, or JSON."""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import dataclass
from typing import Any

from glassleaf.errors import ExportError
from glassleaf.show.report import prose
from glassleaf.show.report.contents import Contents, gather
from glassleaf.show.report.markdown import to_markdown
from glassleaf.show.report.page import to_html
from glassleaf.show.report.steps import step_models
from glassleaf.tree.file.atomic import write_atomically
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.plain import PlainModel

__all__ = ["Contents", "Report", "make_report"]


@dataclass(frozen=True)
class Report:
    """What a model is, how well it does on test rows, and why it says what it says.

    Attributes
    ----------
    contents : Contents
        Everything that is reported, as data.
    scored : PlainModel or str
        The model for the page's what-if scorer, or why there is none.
    scored_steps : tuple of PlainModel
        The models of other lengths that the page shows.
    """

    contents: Contents
    scored: PlainModel | str
    scored_steps: tuple[PlainModel, ...] = ()

    def html(self) -> str:
        """The page as text."""
        return to_html(self.contents, self.scored, self.scored_steps)

    def markdown(self) -> str:
        """The report in Markdown, without what needs a page: pictures and the what-if scorer."""
        return to_markdown(self.contents)

    def json(self) -> str:
        """Everything in the report as JSON; infinity and NaN become null."""
        found = {"summary": prose.summary(self.contents), **self.contents.to_dict()}
        return json.dumps(found, allow_nan=False)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page: one file, which needs no other and no network.

        Parameters
        ----------
        path : str or path
            Usually ends in ``.html``. An existing file is replaced.
        """
        # A lone surrogate in a name cannot be written; what replaces it can.
        write_atomically(path, self.html().encode("utf-8", errors="replace"))


def make_report(
    model: FittedModel,
    settings: dict[str, str],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    target: str | None = None,
    title: str | None = None,
    date: str | datetime.date | None = None,
    seen: bool = False,
) -> Report:
    """Gather the report of a model on test rows or, if ``seen``, on those of its fit.

    ``settings`` are the parameters of the estimator that differ from their defaults.
    """
    contents = gather(
        model, settings, X, y, sample_weight, target=target, title=title, date=date, seen=seen
    )
    try:
        steps = tuple(map(plain_model, step_models(model).values()))
        return Report(contents, plain_model(model), steps)
    except ExportError as error:
        return Report(contents, str(error))

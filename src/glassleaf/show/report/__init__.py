"""A report on a fitted model: one web page, or Markdown, or JSON."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassleaf.errors import ExportError, describe
from glassleaf.explanations.refits import LearningCurve, Optimism
from glassleaf.explanations.stability import Stability
from glassleaf.show.report import prose
from glassleaf.show.report.contents import Contents, Given, gather
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
    seen: bool | Collection[str] = False,
    challenger: Any = None,
    optimism: Sequence[Optimism] = (),
    learning_curve: LearningCurve | None = None,
    inference: Any = None,
    stability: Stability | None = None,
) -> Report:
    """Gather the report of a model on test rows or, if ``seen``, on those of its fit.

    ``settings`` are the parameters of the estimator that differ from their defaults. X may hold
    several samples by name.
    """
    samples = _samples(X, y, sample_weight)
    contents = gather(
        model, settings, samples, target=target, title=title, date=date,
        seen=_seen_names(seen, samples), challenger=challenger, optimism=optimism,
        learning_curve=learning_curve, inference=inference,
        stability=stability,
    )  # fmt: skip
    try:
        steps = tuple(map(plain_model, step_models(model).values()))
        return Report(contents, plain_model(model), steps)
    except ExportError as error:
        return Report(contents, str(error))


def _samples(X: Any, y: Any, sample_weight: Any) -> dict[str, Given]:
    """The samples by name; a single one has none."""
    if not isinstance(X, Mapping):
        return {"": (X, y, sample_weight)}
    if y is not None or sample_weight is not None:
        raise ValueError("Several samples bring their own y and weights: {name: (X, y, weights)}.")
    if not X:
        raise ValueError("There is no sample in X.")
    out = {}
    for name, given in X.items():
        if not isinstance(given, tuple) or len(given) not in (2, 3):
            raise TypeError(f"The sample {name!r} must be (X, y) or (X, y, weights).")
        out[str(name)] = (*given, None)[:3]
    return out


def _seen_names(seen: Any, samples: Mapping[str, Given]) -> Collection[str]:
    """The samples that the model was fitted on."""
    if isinstance(seen, (bool, np.bool_)):
        return list(samples)[-1:] if seen else []
    if isinstance(seen, str) or not isinstance(seen, Collection) or not samples.keys() >= set(seen):
        raise TypeError(f"seen={describe(seen)} must be True, False, or names of samples.")
    return seen

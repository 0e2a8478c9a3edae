"""An explanation of one row: on the screen, or for machines."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glassleaf.cli.failures import CallError
from glassleaf.cli.reading.model_rows import label_of
from glassleaf.cli.screen import signed_bar
from glassleaf.errors import require
from glassleaf.explanations import words
from glassleaf.explanations.formulas import link_text
from glassleaf.explanations.reasons import Reason
from glassleaf.explanations.rows import RowExplanation
from glassleaf.tree.fitted import linear_model

rich_table: Any = require("rich.table", extra="cli", purpose="Tables on the screen")
text: Any = require("rich.text", extra="cli", purpose="Tables on the screen")

_BAR = 12
_LONGEST_NAME = 32
_MOST_TERMS = 12


def favorable_score(estimator: Any, given: str | None) -> Any:
    """What is good for a row, as ``reasons`` takes it."""
    classes = getattr(estimator, "classes_", None)
    if given is None and classes is not None:
        choices = " or ".join(f"--favorable {shlex.quote(str(label))}" for label in classes[:3])
        raise CallError(f"--reasons: say which class is good for the row, such as {choices}.")
    if given in (None, "high", "low"):
        return given
    return label_of(estimator, given, "--favorable")


def favorable_words(estimator: Any, given: str | None) -> str:
    """The end of the line "What hurt most": what is good for the row."""
    positive = linear_model(estimator).positive_class
    if given in (None, "high", "low"):
        score = "score" if positive is None else f"score of {positive}"
        return f", if a {given or 'high'} {score} is good"
    return f", if {given} is good"


def as_json(
    row: int, explanation: RowExplanation, reasons: Sequence[Reason] | None
) -> dict[str, Any]:
    out = {"row": row, **explanation.to_dict()}
    if reasons is not None:
        out["reasons"] = [reason.to_dict() for reason in reasons]
    return out


def show_row(
    out: Any,
    estimator: Any,
    row: int,
    explanation: RowExplanation,
    reasons: Sequence[Reason] | None,
    good: str,
) -> None:
    """Print the path through the tree, then a bar for each column that added something."""
    out.print(text.Text.assemble((f"Row {row}", "bold"), f": {_prediction(explanation)}"))
    which = _class_shown(explanation)
    added_at = {share.node: _one(share.added, which) for share in explanation.shares}
    if added_at:
        out.print(f"  all rows: {added_at[0]:+.4g}", style="cyan")
    for step in explanation.path:
        own = f": {added_at[step.next_node]:+.4g}" if step.next_node in added_at else ""
        out.print(f"  {step.text}{own}", style="cyan")
    out.print(f"  leaf {explanation.leaf_number}", style="green")
    if added_at:
        out.print("  The score is that of the formula for all rows plus what differs on the way.")
    out.print()
    if reasons is not None:
        added = {reason.feature: reason.contribution for reason in reasons}
        out.print(f"What {'hurt most' if added else 'hurt: nothing'}{good}", style="bold")
    else:
        added = explanation.contributions
        out.print(f"  What columns added. Bars to the right lead to {_towards(estimator, which)}.")
    out.print(_bars(added, explanation.values, which))
    for reason in reasons or ():
        if reason.code:
            out.print(text.Text(f"  {reason.feature}: {reason.code} {reason.message}"))
    if reasons is None:
        of = "" if which is None else f" of class {estimator.classes_[which]}"
        reference, raw = (
            words.number(_one(value, which), 4)
            for value in (explanation.reference, explanation.raw)
        )
        model = linear_model(estimator)
        link = link_text(model.link, model.positive_class)
        start = f"{reference} ({explanation.reference_text})"
        limited = _one(explanation.limited, which)
        limit = f", limited by {limited:+.3g}," if limited else ""
        out.print(f"{start} plus these{limit} is {raw}, the score{of}. {link}", style="dim")
    out.print()


def _towards(estimator: Any, which: int | None) -> str:
    """Where bars to the right lead to."""
    model = linear_model(estimator)
    if model.classes is None:
        return "a higher prediction"
    return f"{model.classes[model.positive if which is None else which]}"


def _class_shown(explanation: RowExplanation) -> int | None:
    """Which of several scores is shown: that of the predicted class."""
    if np.ndim(explanation.raw) == 0:
        return None
    return int(np.argmax(explanation.prediction))


def _prediction(explanation: RowExplanation) -> str:
    largest = float(np.max(explanation.prediction))
    if explanation.label is None:
        return f"prediction {words.number(largest, 4)}"
    return f"{explanation.label} with probability {largest:.3f}"


def _one(value: Any, which: int | None) -> float:
    return float(value) if which is None or np.ndim(value) == 0 else float(value[which])


def _bars(added: Mapping[str, Any], values: Mapping[str, Any], which: int | None) -> Any:
    pairs = [(name, of_class) for name, v in added.items() if (of_class := _one(v, which))]
    pairs.sort(key=lambda pair: -abs(pair[1]))
    longest = max((abs(value) for _, value in pairs), default=0.0) or 1.0
    grid = rich_table.Table.grid(padding=(0, 2))
    grid.add_column(max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", style="dim", max_width=20, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right")
    grid.add_column(no_wrap=True)
    for name, value in pairs[:_MOST_TERMS]:
        style = "red" if value < 0 else "blue"
        grid.add_row(
            text.Text(f"  {name}"),
            text.Text(words.value(values.get(name))),
            f"{value:+.3g}",
            text.Text(signed_bar(value / longest, _BAR), style=style),
        )
    if len(pairs) > _MOST_TERMS:
        rest = sum(value for _, value in pairs[_MOST_TERMS:])
        grid.add_row(f"  {len(pairs) - _MOST_TERMS} more", "", f"{rest:+.3g}", "")
    return grid

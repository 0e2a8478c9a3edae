"""For those who have to answer for a model: scores per group, and a card to be filed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from glassleaf._version import __version__
from glassleaf.checks import row_weights
from glassleaf.errors import describe
from glassleaf.explanations import words
from glassleaf.explanations.comparison import Comparison
from glassleaf.explanations.estimates import read_estimates
from glassleaf.explanations.explain import explain
from glassleaf.explanations.formulas import (
    SCALES_INTRO,
    formula,
    limit_texts,
    link_text,
    numbers_text,
    scale_texts,
    without_ends,
)
from glassleaf.explanations.frames import Listed
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation
from glassleaf.explanations.scores import (
    auc_of_class,
    log_loss,
    mean,
    mean_absolute_error,
    mean_error,
    root_mean_squared_error,
)
from glassleaf.explanations.signs import signs_checked
from glassleaf.explanations.targets import target_of_output
from glassleaf.show.report.prose import compared_texts, interval_text, score_text, value_text
from glassleaf.show.report.scores import ReportedScore
from glassleaf.show.settings import changed_parameters
from glassleaf.show.text.markdown import escaped, estimates_table, shared_formula, table
from glassleaf.show.text.model import check_max_terms, target_text, training_range_text
from glassleaf.tree.fitted import FittedModel, fitted_model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GroupScores(JsonData):
    """The model on the rows of one group.

    ``scores`` are, for classes: the share predicted to be of the favorable class
    (``selection_rate``), of those that are of it (``true_positive_rate``) and of those that are
    not (``false_positive_rate``), mean target and mean prediction of that class, AUC and log loss;
    for numbers: mean target, mean prediction, mean error, mean absolute error and root of the mean
    squared error. NaN where a group has no such rows. ``ratio`` is the selection rate (or mean
    prediction) as a share of the largest among the groups. ``by`` is the column that makes the
    groups, empty if it has no name; ``favorable`` the class, None for numbers.
    """

    by: str
    favorable: Any
    group: str
    rows: int
    share: float
    scores: dict[str, float]
    ratio: float


def group_scores(
    estimator: Any,
    X: Any,
    y: Any,
    by: Any,
    *,
    favorable: Any = None,
    sample_weight: Any = None,
) -> Listed[GroupScores]:
    """Scores of a model for every group of rows.

    Parameters
    ----------
    estimator : fitted model tree
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    by : name of a column of X, or array-like of shape (n_samples,)
        What makes the groups. For what is no feature of the model, give the values.
    favorable : class label, default=None
        The class that is good to get. Classifiers need it; numbers have none.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    list of GroupScores
        The largest group first. ``to_frame()`` gives a table.
    """
    model = fitted_model(estimator)
    matrix = model.matrix(X)
    groups = _groups(X, by, len(matrix))
    column = by if isinstance(by, str) else str(getattr(by, "name", None) or "")
    weight = row_weights(sample_weight, len(matrix))
    output = _favorable_output(model, favorable)
    target = target_of_output(model, y, output, len(matrix))
    found = {}
    for name in dict.fromkeys(groups.tolist()):
        here = groups == name
        found[name] = (here, _scores(model, matrix[here], target[here], weight[here], output))
    key = "mean_prediction" if model.classes is None else "selection_rate"
    largest = max(scores[key] for _, scores in found.values())
    out = [
        GroupScores(
            by=column,
            favorable=favorable,
            group=name,
            rows=int(here.sum()),
            share=float(weight[here].sum() / weight.sum()),
            scores=scores,
            ratio=scores[key] / largest if largest > 0 else np.nan,
        )
        for name, (here, scores) in found.items()
    ]
    return Listed(sorted(out, key=lambda group: -group.rows))


def _favorable_output(model: FittedModel, favorable: Any) -> int:
    if model.classes is None:
        if favorable is not None:
            raise ValueError(f"favorable={describe(favorable)}: the model predicts no classes.")
        return 0
    if favorable not in model.classes:
        labels = ", ".join(map(repr, model.classes))
        raise ValueError(
            f"favorable={describe(favorable)}: say which class is good to get, of {labels}."
        )
    return model.classes.index(favorable)


def _groups(X: Any, by: Any, n_rows: int) -> NDArray[Any]:
    if isinstance(by, str):
        if not nw.dependencies.is_into_dataframe(X) or by not in nw.from_native(X).columns:
            raise ValueError(f"by={by!r} is not a column of X; give the values instead.")
        by = nw.from_native(X, eager_only=True)[by].to_list()
    names = np.array(["(missing)" if _is_gap(value) else str(value) for value in list(by)])
    if len(names) != n_rows:
        raise ValueError(f"by has {len(names)} entries, but X has {n_rows} rows.")
    return names


def _is_gap(value: Any) -> bool:
    return value is None or value != value


def _scores(
    model: FittedModel, matrix: Floats, target: Floats, weight: Floats, output: int
) -> dict[str, float]:
    prediction = model.prediction(model.raw(matrix))
    own = prediction[:, output]
    out = {"mean_target": mean(target, weight), "mean_prediction": mean(own, weight)}
    if model.classes is None:
        rows = target, own, weight
        return out | {
            "mean_error": mean_error(*rows),
            "mean_absolute_error": mean_absolute_error(*rows),
            "root_mean_squared_error": root_mean_squared_error(*rows),
        }
    chosen, is_target = prediction.argmax(axis=1) == output, target > 0
    return out | {
        "selection_rate": mean(chosen, weight),
        "true_positive_rate": mean(chosen[is_target], weight[is_target]),
        "false_positive_rate": mean(chosen[~is_target], weight[~is_target]),
        "auc": auc_of_class(is_target, own, weight),
        "log_loss": log_loss(is_target.astype(int), np.column_stack([1 - own, own]), weight),
    }


# --- the card ------------------------------------------------------------------------------------


def model_card(
    estimator: Any,
    *,
    name: str = "Model tree",
    purpose: str = "",
    data: str = "",
    limits: str = "",
    contact: str = "",
    scores: Mapping[str, float] | Sequence[ReportedScore] | None = None,
    comparison: Sequence[Comparison] = (),
    groups: Sequence[GroupScores] = (),
    inference: Any = None,
    max_terms: int | None = None,
) -> str:
    """A model card in Markdown: what the model is, what it says, how well, for whom.

    Parameters
    ----------
    estimator : fitted model tree
    name, purpose, data, limits, contact : str
        What only you can say: the model's name, what it is for, what it was trained on, what it
        must not be used for, who answers for it. Left empty, they appear as open questions.
    scores : dict of name to number, or scores of a report, default=None
        Scores on held-out rows; ``model.report(X, y).contents.scores`` have intervals.
    comparison : sequence of Comparison, default=()
        From ``compare``: a challenger on the same rows.
    groups : sequence of GroupScores, default=()
        From ``group_scores``.
    inference : pandas.DataFrame or None, default=None
        From ``glassleaf.inference``: coefficients with standard errors and intervals.
    max_terms : int or None, default=None
        Terms of every formula that are written down, the most influential first; None: all.

    Returns
    -------
    str
    """
    check_max_terms(max_terms)
    explanation = explain(estimator)
    origin = _origin(explanation, type(estimator).__name__, changed_parameters(estimator))
    open_question = "*To be filled in.*"
    parts = [
        f"# {escaped(name, 200)}",
        "## Purpose\n\n" + (escaped(purpose, 10_000) or open_question),
        "## Model\n\n" + _model_part(explanation, origin) + _sign_part(fitted_model(estimator)),
        "## Training data\n\n" + _data_part(explanation, escaped(data, 10_000) or open_question),
        "## Performance\n\n"
        + _score_part(scores)
        + _comparison_part(comparison)
        + _group_part(groups),
        "## What it says\n\n" + _leaf_part(explanation, max_terms),
        *_coefficient_part(inference),
        "## Features\n\n" + _feature_part(explanation),
        "## Limits and risks\n\n"
        + (escaped(limits, 10_000) or open_question)
        + _limit_notes(explanation),
        "## Contact\n\n" + (escaped(contact, 1000) or open_question),
    ]
    return "\n\n".join(parts) + "\n"


def _origin(explanation: ModelExplanation, estimator: str, settings: Mapping[str, str]) -> str:
    given = ", ".join(f"{name}={value}" for name, value in settings.items())
    return (
        f"{estimator}({given}), fitted with the loss {explanation.loss}; all other"
        f" settings on which results depend are the defaults. Written by glassleaf {__version__}."
    )


def _model_part(explanation: ModelExplanation, origin: str) -> str:
    n, depth = len(explanation.leaves), max(node.depth for node in explanation.nodes)
    shape = "A single formula; no question is asked before."
    if n > 1 and explanation.share_formula:
        shape = f"One formula for all rows, and a decision tree ({n} leaves) for what differs."
    elif n > 1:
        shape = f"A decision tree with {n} leaves (depth {depth}) and a formula in each of them."
    link = link_text(explanation.link, explanation.positive_class)
    return (
        f"{shape} {escaped(link, 500)}. There are {numbers_text(explanation)}.\n\n"
        f"{escaped(origin, 3000)}"
    )


def _sign_part(model: FittedModel) -> str:
    """What was checked of the signs that columns have."""
    found = signs_checked(model)
    return "" if found is None else f"\n\n{escaped(found.text, 3000)}"


def _data_part(explanation: ModelExplanation, said: str) -> str:
    root = explanation.nodes[0]
    return (
        f"{said}\n\n{explanation.rows:,} rows, {len(explanation.features)} features;"
        f" {escaped(target_text(explanation, root.target), 500)}."
    )


def _score_part(scores: Mapping[str, float] | Sequence[ReportedScore] | None) -> str:
    if not scores:
        return "*No scores were given.*"
    if isinstance(scores, Mapping):
        rows = [[escaped(name), words.number(float(value), 4)] for name, value in scores.items()]
        return table(["score", "value"], rows)
    rows = [
        [own.name, score_text(own), interval_text(own), value_text(own, own.baseline)]
        for own in scores
    ]
    return table(["score", "value", "95% interval", "constant guess"], rows)


def _comparison_part(comparison: Sequence[Comparison]) -> str:
    if not comparison:
        return ""
    header = ["score", "model", "challenger", "difference", "95% interval", "p"]
    return "\n\n### Challenger\n\n" + table(header, list(map(compared_texts, comparison)))


def _group_part(groups: Sequence[GroupScores]) -> str:
    """A table for every column that makes groups."""
    by_column: dict[str, list[GroupScores]] = {}
    for group in groups:
        by_column.setdefault(group.by, []).append(group)
    return "".join(_group_table(column, own) for column, own in by_column.items())


def _group_table(column: str, groups: Sequence[GroupScores]) -> str:
    names = list(groups[0].scores)
    rows = [
        [
            escaped(group.group), str(group.rows),
            *(words.number(group.scores[name], 4) for name in names),
            words.number(group.ratio, 4),
        ]
        for group in groups
    ]  # fmt: skip
    by = escaped(column, 100)
    header = [
        by or "group",
        "rows",
        *(name.replace("_", " ") for name in names),
        "ratio to the highest",
    ]
    title = f"\n\n### By {by or 'group'}\n\n"
    favorable = groups[0].favorable
    if favorable is not None:
        title += f"Targets, predictions and rates are of the class {escaped(str(favorable))}.\n\n"
    return title + table(header, rows)


def _leaf_part(explanation: ModelExplanation, max_terms: int | None) -> str:
    """All formulas; where leaves share theirs, that for all rows, and what differs."""
    is_shared = explanation.share_formula
    rows = []
    for leaf in explanation.leaves:
        scores = [formula(explanation, leaf, k, max_terms) for k in range(len(explanation.outputs))]
        said = target_text(explanation, leaf.target)
        share = words.rows_and_share(leaf.rows, explanation.rows, leaf.share, unit="")
        score = "<br>".join(escaped(score, 100_000) for score in scores)
        cells = [str(leaf.leaf), escaped(leaf.rule_text, 500), share, escaped(said, 300)]
        rows.append(cells if is_shared else [*cells, score])
    header = ["leaf", "rule", "rows", "target"]
    out = table(header if is_shared else [*header, "score"], rows)
    if is_shared:
        out = f"{shared_formula(explanation)}\n\n{out}"
    for text in [] if is_shared else limit_texts(explanation):
        out += f"\n\n{escaped(text, 500)}"
    scales = [f"- {escaped(text, 4000)}" for text in scale_texts(explanation, max_terms).values()]
    if scales:
        out += f"\n\n{escaped(SCALES_INTRO, 500)}:\n\n" + "\n".join(scales)
    return out


def _coefficient_part(given: Any) -> list[str]:
    """Coefficients with intervals, if they are given."""
    if given is None:
        return []
    return [f"## Coefficients\n\n{estimates_table(read_estimates(given))}"]


def _feature_part(explanation: ModelExplanation) -> str:
    by_name = {feature.name: feature for feature in explanation.features}
    rows = []
    for name in explanation.importance:
        feature = by_name[name]
        effect, gain = words.percent(feature.effect_share), words.percent(feature.gain_share)
        rows.append([escaped(name), training_range_text(feature), effect, gain])
    return table(["feature", "seen in training", "share of the effect", "share of the gain"], rows)


def _limit_notes(explanation: ModelExplanation) -> str:
    beyond = "every number counts as the nearest end."
    names = without_ends(explanation)
    if names:
        listed = ", ".join(escaped(name) for name in names)
        advice = "" if explanation.parameters.get("clamp") else "; with `clamp=True` it would not"
        is_limited = len(limit_texts(explanation)) > len(explanation.known)
        held = " within the limits of its score" if is_limited else advice
        beyond = f"it extrapolates along {listed}{held}."
    return (
        "\n\nThe model describes associations in its training data, not causes. Beyond the ranges"
        f" that it saw, {beyond}"
        + "".join(f"\n\n{escaped(note, 500)}" for note in explanation.notes)
    )

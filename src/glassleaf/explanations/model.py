"""The explanation of a whole model, as data.

Definitions
-----------
* ``strength`` of a feature in a node: standard deviation, over the node's training rows, of what
  the feature adds to the raw score there; for a number ``|coef| * spread``, or that of the broken
  line where it bends. Of several classes, a score only counts relative to the others: their mean
  is subtracted from the coefficients first, and the root of the mean square over the classes is
  taken.
* ``effect`` of a feature: root of the mean square of its strengths in the leaves, weighted by
  rows. ``effect_share`` is its share of the sum over all features.
* ``gain_share``: gains of the splits on the feature, as a share of all gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import words
from glassleaf.explanations.effects import additive, strengths
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.notes import notes
from glassleaf.explanations.rules import (
    Condition,
    all_rules,
    candidate_condition,
    rule_text,
    split_conditions,
)
from glassleaf.explanations.terms import Term, all_terms
from glassleaf.tree.complexity import count_numbers, shares_formula
from glassleaf.tree.fitted import FittedModel, python_value
from glassleaf.tree.references import reference_of
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Feature(JsonData):
    """An input column, what the models make of it, and how much it matters.

    ``knots`` are the points (x, term) of its transform, None without one. ``fill`` is the term of
    a missing number or of a special value: ``special`` are such values and their words.
    ``low, high``: the range in training, NaN where it is not known. Formulas write
    ``x - reference`` where zero is far from all values; 0 where it is not.
    """

    name: str
    column: int
    categories: tuple[Any, ...] | None
    knots: tuple[tuple[float, float], ...] | None
    special: tuple[tuple[float, str], ...]
    fill: float
    low: float
    high: float
    reference: float
    effect: float
    effect_share: float
    gain_share: float
    n_splits: int
    date_unit: str | None = None  # of days, the unit in which they are written as dates


@dataclass(frozen=True)
class Candidate(JsonData):
    """A split that could have been made; ``gains`` are points (threshold or rank, gain).

    Gains are the criterion's. A split that was chosen by a closer look (``rescore``, ``refine``)
    need not have the largest.
    """

    feature: str
    condition: Condition
    text: str
    gain: float
    is_chosen: bool
    gains: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class SplitExplanation(JsonData):
    """The split of an inner node: rows that meet ``condition`` go to ``left``.

    ``p_value`` is None where it was not tested.
    """

    feature: str
    left: int
    right: int
    condition: Condition
    otherwise: Condition
    gain: float
    p_value: float | None
    candidates: tuple[Candidate, ...]

    @property
    def sides(self) -> tuple[tuple[int, Condition], tuple[int, Condition]]:
        """Both children, each with what it asks."""
        return (self.left, self.condition), (self.right, self.otherwise)

    @property
    def runners_up(self) -> tuple[Candidate, ...]:
        """The best candidates of the other features, the best first."""
        return tuple(candidate for candidate in self.candidates if not candidate.is_chosen)


@dataclass(frozen=True)
class RefusedSplit(JsonData):
    """The best split of a leaf, which was not made because it may be chance."""

    feature: str
    p_value: float


@dataclass(frozen=True)
class NodeExplanation(JsonData):
    """A node, its rule and its model.

    ``leaf`` numbers the leaves from left to right, from 1. ``share`` is that of the weight.
    ``target`` is the mean target, or the share of every class; ``raw`` the raw score of the node's
    mean row, before its limits, and ``prediction`` the prediction that follows from it.
    ``coef[k][t]`` belongs to output k and term t. Number j is held within ``clamp[j]``, before its
    hinges are taken; score k is held within ``limits[k]``. ``mean`` and ``spread`` are those of the
    terms, ``covariance[p]`` that of the two terms ``ModelExplanation.pairs[p]``. ``numbers`` is how
    many numbers a prediction in a leaf needs, None for inner nodes.
    """

    id: int
    leaf: int | None
    parent: int | None
    depth: int
    rule: tuple[Condition, ...]
    rule_text: str
    rows: int
    weight: float
    share: float
    loss: float
    target: tuple[float, ...]
    raw: tuple[float, ...]
    prediction: tuple[float, ...]
    intercept: tuple[float, ...]
    coef: tuple[tuple[float, ...], ...]
    clamp: tuple[tuple[float, float], ...]
    limits: tuple[tuple[float, float], ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    covariance: tuple[float, ...]
    strength: dict[str, float]
    numbers: int | None
    split: SplitExplanation | None
    refused: RefusedSplit | None


@dataclass(frozen=True)
class ModelExplanation(JsonData):
    """A whole model; see the module's docstring for what its numbers mean.

    ``pairs`` are every two terms that are functions of one number: its line and its hinges.
    ``positive_class`` is the one of two classes whose log-odds the score is, else None.
    ``numbers`` counts what there is to read, by what it is. If the leaves ``share_formula``, it is
    shorter to say the formula for all rows, and at every node what differs from its parent's.
    ``notes`` are sentences about columns and calibration; see ``notes``. ``known`` is what every
    score adds, within its limits or not: an exposure, an offset.
    """

    kind: str
    loss: str
    link: str
    classes: tuple[Any, ...] | None
    positive_class: Any
    outputs: tuple[str, ...]
    rows: int
    features: tuple[Feature, ...]
    terms: tuple[Term, ...]
    pairs: tuple[tuple[int, int], ...]
    nodes: tuple[NodeExplanation, ...]
    numbers: dict[str, int]
    share_formula: bool
    notes: tuple[str, ...]
    known: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def feature(self) -> dict[str, Feature]:
        """The features by name."""
        return {feature.name: feature for feature in self.features}

    @cached_property
    def bent(self) -> tuple[str, ...]:
        """The features that bend in some leaf."""
        coef = np.array([leaf.coef for leaf in self.leaves])
        used = (coef != 0.0).any(axis=(0, 1)).tolist()
        pairs = zip(self.terms, used, strict=True)
        found = {term.feature for term, is_used in pairs if is_used and term.kind == "hinge"}
        return tuple(feature.name for feature in self.features if feature.name in found)

    @cached_property
    def of_number(self) -> dict[str, tuple[int, ...]]:
        """By feature, the terms of a number that are read as one: its line and its hinges."""
        found: dict[str, tuple[int, ...]] = {}
        for t, term in enumerate(self.terms):
            if term.kind in ("number", "hinge"):
                found[term.feature] = (*found.get(term.feature, ()), t)
        return found

    @cached_property
    def summands(self) -> tuple[tuple[int, ...], ...]:
        """All terms by what is read as one: those of a number together, others alone."""
        return tuple(
            self.of_number[term.feature] if term.kind == "number" else (t,)
            for t, term in enumerate(self.terms)
            if term.kind != "hinge"
        )

    @property
    def positive(self) -> int:
        """The prediction that stands for all: of the positive class, or the last of several."""
        if self.classes is None or self.positive_class is None:
            return len(self.classes or (0,)) - 1
        return self.classes.index(self.positive_class)

    @property
    def leaves(self) -> tuple[NodeExplanation, ...]:
        """The leaves, from left to right."""
        found = [node for node in self.nodes if node.leaf is not None]
        return tuple(sorted(found, key=lambda node: node.leaf or 0))

    @property
    def splits(self) -> tuple[NodeExplanation, ...]:
        """The inner nodes, the root first."""
        return tuple(node for node in self.nodes if node.split is not None)

    @property
    def importance(self) -> dict[str, float]:
        """``effect_share`` of every feature, the largest first."""
        ordered = sorted(self.features, key=lambda feature: -feature.effect_share)
        return {feature.name: feature.effect_share for feature in ordered}


def spread_of(
    explanation: ModelExplanation, node: NodeExplanation, terms: Sequence[int], output: int
) -> float:
    """Spread of what some terms of one number add together to a score in a node."""
    coef = node.coef[output]
    variance = sum((coef[t] * node.spread[t]) ** 2 for t in terms)
    for (one, other), together in zip(explanation.pairs, node.covariance, strict=True):
        if len(terms) > 1 and one in terms and other in terms:
            variance += 2 * coef[one] * coef[other] * together
    return float(np.sqrt(np.maximum(variance, 0.0)))


def explain_model(model: FittedModel) -> ModelExplanation:
    """Gather the explanation of a fitted tree."""
    tree = model.tree
    strength, counted = feature_strengths(tree), count_numbers(tree)
    return ModelExplanation(
        kind=model.kind,
        loss=type(model.loss).__name__,
        link=model.link,
        classes=model.classes,
        positive_class=model.positive_class,
        outputs=model.outputs,
        rows=int(tree.n_samples[0]),
        features=_features(tree, strength),
        terms=all_terms(tree),
        pairs=tuple((one, other) for one, other in tree.terms.pairs.tolist()),
        nodes=_nodes(model, strength, counted.per_leaf),
        numbers=counted.parts,
        share_formula=_shares_formula(model),
        notes=notes(model),
        known=tuple(
            offset.text(words.name(model.names[offset.column])) for offset in model.tree.offsets
        ),
        parameters=dict(model.parameters),
    )


def _shares_formula(model: FittedModel) -> bool:
    """Whether the model is told by differences; a single leaf, if it is one of several lengths."""
    is_short = model.tree.n_leaves > 1 or model.path is not None
    return is_short and shares_formula(model.tree)


def feature_strengths(tree: Tree) -> Floats:
    """Strength of every column in every node, shape (nodes, columns)."""
    if tree.coef.ndim == 3:  # scores of classes count relative to each other
        centered = tree.coef - tree.coef.mean(axis=1, keepdims=True)
        found = strengths(_with_coef(tree, centered))
        return np.asarray(np.sqrt((found**2).mean(axis=2)))
    return np.asarray(strengths(tree)[:, :, 0])


def _with_coef(tree: Tree, coef: Floats) -> Tree:
    return Tree(**{**vars(tree), "coef": coef})


def _features(tree: Tree, strength: Floats) -> tuple[Feature, ...]:
    leaf = tree.left == LEAF
    share = tree.weight[leaf] / tree.weight[leaf].sum()
    effect = np.sqrt(share @ strength[leaf] ** 2)
    inner = ~leaf
    gain = np.bincount(
        tree.feature[inner], weights=tree.gain[inner], minlength=len(tree.columns)
    ).astype(np.float64)
    count = np.bincount(tree.feature[inner], minlength=len(tree.columns))
    out = []
    for j, column in enumerate(tree.columns):
        knots = tree.terms.knots(j)
        out.append(
            Feature(
                name=column.name,
                column=j,
                categories=None
                if column.categories is None
                else tuple(python_value(category) for category in column.categories),
                knots=None
                if knots is None
                else tuple(zip(knots.x.tolist(), knots.z.tolist(), strict=True)),
                special=column.special,
                fill=float(tree.terms.fill[j]),
                low=float(tree.record.low[j]),
                high=float(tree.record.high[j]),
                reference=reference_of(tree, j),
                effect=float(effect[j]),
                effect_share=_share(effect, j),
                gain_share=_share(gain, j),
                n_splits=int(count[j]),
                date_unit=column.date_unit,
            )
        )
    return tuple(out)


def _share(of_features: Floats, j: int) -> float:
    total = float(of_features.sum())
    return float(of_features[j]) / total if total > 0 else 0.0


def _nodes(
    model: FittedModel, strength: Floats, numbers: dict[int, int]
) -> tuple[NodeExplanation, ...]:
    tree = model.tree
    center = additive(tree).center
    low, high = (ends.reshape(center.shape) for ends in (tree.score_low, tree.score_high))
    prediction = model.prediction(np.clip(center, low, high))
    target = tree.record.target.reshape(tree.node_count, -1)
    rules, parent, depth = all_rules(tree), tree.parent, tree.depth
    leaf_number = {node: k + 1 for k, node in enumerate(model.leaves)}
    coef = tree.coef.reshape(tree.node_count, center.shape[1], -1)
    intercept = tree.intercept.reshape(tree.node_count, -1)
    return tuple(
        NodeExplanation(
            id=node,
            leaf=leaf_number.get(node),
            parent=int(parent[node]) if parent[node] >= 0 else None,
            depth=int(depth[node]),
            rule=rules[node],
            rule_text=rule_text(rules[node]),
            rows=int(tree.n_samples[node]),
            weight=float(tree.weight[node]),
            share=float(tree.weight[node] / tree.weight[0]),
            loss=float(tree.loss[node]),
            target=tuple(target[node].tolist()),
            raw=tuple(center[node].tolist()),
            prediction=tuple(prediction[node].tolist()),
            intercept=tuple(intercept[node].tolist()),
            coef=tuple(tuple(row) for row in coef[node].tolist()),
            clamp=tuple(
                zip(tree.clamp_low[node].tolist(), tree.clamp_high[node].tolist(), strict=True)
            ),
            limits=tuple(zip(low[node].tolist(), high[node].tolist(), strict=True)),
            mean=tuple(tree.record.mean[node].tolist()),
            spread=tuple(tree.record.spread[node].tolist()),
            covariance=tuple(tree.record.covariance[node].tolist()),
            strength=dict(zip(model.names, strength[node].tolist(), strict=True)),
            numbers=numbers.get(node),
            split=_split(tree, node),
            refused=_refused(tree, node),
        )
        for node in range(tree.node_count)
    )


def _split(tree: Tree, node: int) -> SplitExplanation | None:
    if tree.left[node] == LEAF:
        return None
    left, right = split_conditions(tree, node)
    return SplitExplanation(
        feature=left.feature,
        left=int(tree.left[node]),
        right=int(tree.right[node]),
        condition=left,
        otherwise=right,
        gain=float(tree.gain[node]),
        p_value=None if np.isnan(tree.record.p_value[node]) else float(tree.record.p_value[node]),
        candidates=_candidates(tree, node),
    )


def _refused(tree: Tree, node: int) -> RefusedSplit | None:
    column = tree.record.refused[node]
    if column < 0:
        return None
    return RefusedSplit(tree.columns[column].name, float(tree.record.p_value[node]))


def _candidates(tree: Tree, node: int) -> tuple[Candidate, ...]:
    found = tree.record.candidates
    out = []
    for k in np.flatnonzero(found.node == node):
        is_chosen = bool(found.feature[k] == tree.feature[node])
        if is_chosen:
            condition = split_conditions(tree, node)[0]
        else:
            condition = candidate_condition(tree, found, int(k))
        points = slice(found.first_point[k], found.first_point[k + 1])
        gains = zip(found.position[points].tolist(), found.curve[points].tolist(), strict=True)
        out.append(
            Candidate(
                feature=condition.feature,
                condition=condition,
                text=condition.text,
                gain=float(found.gain[k]),
                is_chosen=is_chosen,
                gains=tuple(gains),
            )
        )
    return tuple(out)

"""The way from the shortest model to the longest: one tree, and what each step keeps of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INTERCEPT = -1  # the place of an intercept among the terms


@dataclass(frozen=True)
class Step:
    """A model on the way, by the entries of its nodes' differences that are not zero.

    Entry k is what the model of ``node[k]`` has more than its parent's, in the given output and
    term. ``loss`` is the mean loss of the training rows, ``validated`` that of rows which a model
    of this length was not learned on, and ``error`` the standard error of how much worse it is than
    that of the best step. ``limits`` are the ends beyond which a score counts as the end.
    """

    numbers: int
    loss: float
    validated: float
    error: float
    node: Ints
    output: Ints
    term: Ints
    value: Floats
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Path:
    """The steps in order, and the tree that they are cut from."""

    whole: Tree
    steps: tuple[Step, ...]

    def at(self, numbers: int) -> Step:
        """The longest step with no more numbers; the shortest of all if every step has more."""
        short = [step for step in self.steps if step.numbers <= numbers]
        return short[-1] if short else self.steps[0]

    def tree(self, step: Step) -> Tree:
        """The tree of a step: splits that tell nothing apart are gone."""
        return with_differences(self.whole, step)

    def place(self, tree: Tree) -> int | None:
        """Which of the steps a tree is, if any."""
        found = (k for k, step in enumerate(self.steps) if self.tree(step) == tree)
        return next(found, None)

    def explained(self, tree: Tree) -> float | None:
        """Share of a constant's validated loss that a tree takes away; None where not known."""
        place, first = self.place(tree), self.steps[0]
        if place is None or (first.term != INTERCEPT).any() or not first.validated > 0:
            return None
        return 1 - self.steps[place].validated / first.validated


def with_differences(tree: Tree, step: Step) -> Tree:
    """A tree whose models are the sums of differences on the way to them."""
    n_outputs = tree.intercept.size // tree.node_count
    models = np.zeros((tree.node_count, n_outputs, tree.terms.n_terms + 1))  # intercepts last
    models[step.node, step.output, step.term] = step.value
    is_own = models != 0
    for node, above_node in enumerate(tree.parent[1:], 1):  # parents come before their children
        above = models[above_node]
        # What does not differ is the same to the last bit.
        models[node] = np.where(is_own[node], above + models[node], above)
    low, high = step.limits or (-np.inf, np.inf)
    short = replace(
        tree,
        score_low=np.full_like(tree.intercept, low),
        score_high=np.full_like(tree.intercept, high),
        coef=models[:, :, :-1].reshape(tree.coef.shape),
        intercept=models[:, :, -1].reshape(tree.intercept.shape),
    )
    return _without_needless_splits(short, is_own.any(axis=(1, 2)))


def _without_needless_splits(tree: Tree, differs: NDArray[np.bool_]) -> Tree:
    """The tree without splits below which no node differs."""
    needed, parent = differs.copy(), tree.parent
    if tree.given is not None:  # these stay, whatever they tell apart
        needed[np.isin(parent, np.flatnonzero(tree.given))] = True
    for node in range(tree.node_count - 1, 0, -1):  # children come after their parents
        if needed[node]:
            needed[parent[node]] = True
    kept, ahead, is_leaf = [], [0], np.ones(tree.node_count, dtype=np.bool_)
    while ahead:
        node = ahead.pop(0)
        kept.append(node)
        left, right = int(tree.left[node]), int(tree.right[node])
        if left != LEAF and (needed[left] or needed[right]):
            is_leaf[node] = False
            ahead += [left, right]
    return _taken(tree, np.array(sorted(kept)), is_leaf)


def _taken(tree: Tree, kept: Ints, is_leaf: NDArray[np.bool_]) -> Tree:
    number = np.full(tree.node_count, LEAF, dtype=np.int32)
    number[kept] = np.arange(len(kept))
    closed = is_leaf[kept]
    per_node = (
        "missing_left", "unknown_left", "coef", "intercept", "clamp_low", "clamp_high",
        "score_low", "score_high", "n_samples", "weight", "loss",
    )  # fmt: skip
    changed = {name: getattr(tree, name)[kept] for name in per_node}
    record = tree.training_record
    return replace(
        tree,
        **changed,
        given=None if tree.given is None else tree.given[kept],
        feature=np.where(closed, LEAF, tree.feature[kept]).astype(np.int32),
        threshold=np.where(closed, np.nan, tree.threshold[kept]),
        left=np.where(closed, LEAF, number[tree.left[kept]]).astype(np.int32),
        right=np.where(closed, LEAF, number[tree.right[kept]]).astype(np.int32),
        first_category=np.where(closed, -1, tree.first_category[kept]),
        gain=np.where(closed, 0.0, tree.gain[kept]),
        training_record=None if record is None else record.taken(kept, closed, number),
    )

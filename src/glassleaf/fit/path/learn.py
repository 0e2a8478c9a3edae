"""The path of a fit: models of growing length, each with what it loses on other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.guard import limits_of
from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.path.alone import Alone, columns_alone
from glassleaf.fit.path.leaf_sums import LeafSums, added, leaf_sums
from glassleaf.fit.path.offer import Offer, offer_of
from glassleaf.fit.path.on_rows import Found, OnRows
from glassleaf.fit.path.select import RIDGE_ROWS, Steps, learned_without, select, units_of
from glassleaf.fit.path.shape import Shape, shape_of
from glassleaf.fit.path.shorten import shortened
from glassleaf.fit.rare import steps_without_rare, without_rare
from glassleaf.fit.splits.find import Node
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Roles, Settings
from glassleaf.tree.complexity import LONGEST
from glassleaf.tree.path import INTERCEPT, Path, Step
from glassleaf.tree.references import references_of_terms
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]

# Steps of a path that are kept, each judged on rows, with its numbers shortened: some by ratios of
# their numbers up to this many, beyond it those at full tens.
_BY_RATIOS = 20
_BY_TENS = 40
_N_LIMITS = 2
# How often what a ridge left is asked for again.
_ROUNDS = 4
# A loss below this share of that of the shortest model is rounding.
_ROUNDING = 1e-18
# Shares of what a model explains, and leaves, for which nobody would read more numbers.
_LITTLE = 0.005
_LITTLE_LEFT = 0.02


def learn_path(
    backend: Backend, models: LinearModels, nodes: Sequence[Node], plan: Plan, roles: Roles,
    settings: Settings, whole: Tree,
) -> Path:  # fmt: skip
    """Models of growing length, each the best of its length, with what they lose on other rows.

    They are cut from the ``whole`` tree of these nodes.
    """
    own = _asked(backend, models, nodes, plan, roles, settings, whole)
    asked = settings.max_numbers if isinstance(settings.max_numbers, int) else LONGEST
    steps = select(own.shape, own.sums, own.unit, max(LONGEST, asked) - own.n_limits)
    steps = _thinned(steps, asked - own.n_limits, own.n_limits)
    others = learned_without(own.shape, own.folds, own.unit, steps.numbers)
    if settings.loss.is_quadratic:
        of_folds = np.array([
            fold.loss(own.shape.models(entries))
            for fold, entries in zip(own.folds, others, strict=True)
        ])  # fmt: skip
        steps, lost = _without_ridge(own, steps)
        before = lost
    else:
        start = own.on_rows.at(steps.entries)
        held = start if own.n_limits else start.without_limits()
        of_folds = own.on_rows.losses_of_folds(others, held)
        steps, lost = own.on_rows.improved(steps, start, own.unit)
        before = start.loss
    steps, found = _finished(own, steps, lost, plan, settings)
    validated = found.loss + of_folds.sum(axis=0) - before
    error = _errors(validated, found.loss, of_folds)
    return _path(own, steps, found, validated, error, plan, whole)


def learn_step(
    backend: Backend, models: LinearModels, nodes: Sequence[Node], plan: Plan, roles: Roles,
    settings: Settings, whole: Tree,
) -> Path:  # fmt: skip
    """The one step of that path that is asked for by its numbers; it is not validated."""
    own = _asked(backend, models, nodes, plan, roles, settings, whole)
    assert isinstance(settings.max_numbers, int)
    most = settings.max_numbers - own.n_limits
    steps = select(own.shape, own.sums, own.unit, max(LONGEST - own.n_limits, most))
    place = max(int(np.searchsorted(steps.numbers, most, side="right")) - 1, 0)
    here = slice(place, place + 1)
    steps = Steps(steps.numbers[here], steps.fall[here], steps.entries[here])
    if settings.loss.is_quadratic:
        steps, lost = _without_ridge(own, steps)
    else:
        steps, lost = own.on_rows.improved(steps, own.on_rows.at(steps.entries), own.unit)
    steps, found = _finished(own, steps, lost, plan, settings)
    unknown = np.full(1, np.nan)
    return _path(own, steps, found, unknown, unknown, plan, whole)


@dataclass(frozen=True)
class _Asked:
    """What the rows of the leaves say, and which entries there may be."""

    folds: list[LeafSums]
    sums: LeafSums
    alone: Alone
    shape: Shape
    unit: Floats
    on_rows: OnRows
    weight: float
    n_limits: int


def _asked(
    backend: Backend, models: LinearModels, nodes: Sequence[Node], plan: Plan, roles: Roles,
    settings: Settings, whole: Tree,
) -> _Asked:  # fmt: skip
    loss, weight = settings.loss, nodes[0].model.weight
    leaves = [node for node in nodes if node.children is None]
    offer = offer_of(plan.design, references_of_terms(whole), roles.signs)
    folds = leaf_sums(backend, models, leaves, offer, plan.units)
    sums = added(folds)
    alone = columns_alone(sums, plan.design.terms, offer)
    shape = shape_of(nodes, plan, roles, offer, sums, alone)
    unit = units_of(sums, shape.rules.intercept, weight)
    on_rows = OnRows(backend, leaves, offer, loss, shape, shape.node_sums(sums)[0])
    n_limits = _N_LIMITS if loss.n_outputs == 1 and settings.is_held else 0
    return _Asked(folds, sums, alone, shape, unit, on_rows, weight, n_limits)


def _finished(
    own: _Asked, steps: Steps, lost: Floats, plan: Plan, settings: Settings
) -> tuple[Steps, Found]:
    """Steps of short numbers, if that is asked for, and what the rows say of them."""
    if settings.shortens:
        steps = _with_short_numbers(steps, lost, own.on_rows, plan)
    return steps, own.on_rows.at(steps.entries, with_gradient=False)


def _path(
    own: _Asked, steps: Steps, found: Found, validated: Floats, error: Floats, plan: Plan,
    whole: Tree,
) -> Path:  # fmt: skip
    described = _described(
        steps, found, validated, error, own.on_rows, plan, own.weight, own.n_limits
    )
    described = steps_without_rare(described, whole)
    return Path(own.alone.noted(without_rare(whole), described, plan.units.score_scale), described)


def _without_ridge(own: _Asked, steps: Steps) -> tuple[Steps, Floats]:
    """The steps with the entries that lose least, where these keep the signs, and what they lose.

    Each round leaves a share of the ridge's pull: little of entries that many rows tell.
    """
    shape, found = own.shape, steps.entries.copy()
    slope = shape.node_sums(own.sums)[1]
    for entries in found:
        used = entries != 0
        used[0, shape.rules.intercept] = True
        size, sign = (
            np.broadcast_to(of, entries.shape)[used] for of in (own.unit, shape.rules.sign)
        )
        gram = own.on_rows.gram(used) / (size[:, None] * size)
        inverse = np.linalg.inv(gram + RIDGE_ROWS * np.eye(len(gram)))
        best = size * entries[used]
        for _ in range(_ROUNDS):
            best = best + inverse @ (slope[used] / size - gram @ best)
        if (sign * best >= 0).all():
            entries[used] = best / size
    return Steps(steps.numbers, steps.fall, found), own.sums.loss(shape.models(found))


def _thinned(steps: Steps, asked: int, n_limits: int) -> Steps:
    """Some of the steps: by ratios, at full tens, the one asked for, and the last."""
    first, last = steps.numbers[[0, -1]]
    tens = np.arange(10, last + n_limits, 10) - n_limits
    ratios = np.geomspace(first, min(max(first, _BY_TENS), last), _BY_RATIOS).round()
    wanted = [*ratios, *tens, asked, last]
    place = np.searchsorted(steps.numbers, wanted, side="right") - 1
    kept = np.unique(np.maximum(place, 0))
    return Steps(steps.numbers[kept], steps.fall[kept], steps.entries[kept])


def _errors(validated: Floats, lost: Floats, of_folds: Floats) -> Floats:
    """Standard error of how much more every step loses than the best one.

    Of so few folds, that of a single step is known badly. The variance of a difference grows with
    the difference of the models and with what they lose, so that all shorter steps tell it
    together. Longer ones are not asked: those that say too much vary most.
    """
    best = int(np.argmin(validated))
    apart = of_folds - of_folds[:, [best]]
    variance = len(of_folds) * apart.var(axis=0, ddof=1)
    size = abs(lost - lost[best]) * (lost + lost[best])
    rate = variance[:best].sum() / max(size[:best].sum(), np.finfo(float).tiny)
    return np.asarray(np.sqrt(rate * size))


def _with_short_numbers(steps: Steps, lost: Floats, on_rows: OnRows, plan: Plan) -> Steps:
    """The steps with entries that are short in the units of columns and target."""
    scale, entries = plan.units.score_scale, steps.entries.copy()
    center = np.zeros(entries.shape[1:])
    is_constant = np.zeros(entries.shape[1:], dtype=np.bool_)
    is_constant[0, on_rows.shape.rules.intercept] = True
    center[is_constant] = plan.units.score_center
    for k, own in enumerate(entries):
        used = is_constant | (own != 0)
        raw = scale * own[used] + center[used]
        loss = max(float(lost[k]), _ROUNDING * float(lost[0]))
        sign = np.broadcast_to(on_rows.shape.rules.sign, used.shape)[used]
        short = shortened(raw, on_rows.gram(used) / scale**2, loss, sign)
        own[used] = (short - center[used]) / scale
    return Steps(steps.numbers, steps.fall, entries)


def _described(
    steps: Steps, found: Found, validated: Floats, error: Floats, on_rows: OnRows, plan: Plan,
    weight: float, n_limits: int,
) -> tuple[Step, ...]:  # fmt: skip
    """Steps in the units of columns and target."""
    offer, units = on_rows.offer, plan.units
    per_row = units.worth / weight
    low, high = (units.score_scale * end + units.score_center for end in (found.low, found.high))
    out = []
    for k, entries in enumerate(_stored(steps.entries, offer)):
        is_kept = entries != 0
        is_kept[0, :, -1] = True  # zero in the units of training is none in those of the target
        node, output, place = np.nonzero(is_kept)
        value = units.score_scale * entries[is_kept]
        value[(node == 0) & (place == entries.shape[2] - 1)] += units.score_center
        limits = limits_of(float(low[k, 0]), float(high[k, 0])) if n_limits else None
        out.append(
            Step(
                numbers=int(steps.numbers[k]) + (n_limits if limits else 0),
                loss=float(found.loss[k] * per_row),
                validated=float(validated[k] * per_row),
                error=float(error[k] * per_row),
                node=node,
                output=output,
                term=np.append(offer.layout.term, INTERCEPT)[place],
                value=value,
                limits=limits,
            )
        )
    return tuple(out)


def _stored(entries: Floats, offer: Offer) -> Floats:
    """Entries of stored columns and the constant alone: (steps, nodes, outputs, columns).

    The constant is that where all columns are zero.
    """
    n_steps, n_nodes, _ = entries.shape
    out = offer.stored(entries.reshape(n_steps, n_nodes, -1, offer.size))
    out[..., -1] -= out[..., :-1] @ offer.reference
    return out


def shortest_good(steps: Sequence[Step]) -> Step:
    """The shortest step whose validated loss is nearly the best.

    It is within one standard error, or so near that nobody would read more numbers for it: within a
    two-hundredth of what the best one explains of the loss of a constant, and a fiftieth of what
    it leaves.
    """
    best = min(step.validated for step in steps)
    little = min(_LITTLE * (steps[0].validated - best), _LITTLE_LEFT * max(best, 0.0))
    return next(step for step in steps if step.validated <= best + max(step.error, little))

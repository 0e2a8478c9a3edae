"""Penalized Newton on sums: parameters out, sums in, no rows in sight.

The problem of one node, in the node's own standardized units, is

    minimize  loss(theta) + alpha * (l1_ratio * |w|_1 + (1 - l1_ratio) / 2 * |w - w0|_2^2)

over ``theta = (w, b)`` for every output, with the intercept b free and w within bounds; w0 is zero,
or what the parent's model says. Each round solves the small quadratic problem around the current
point and asks for the loss and the gradient at the new one. The Hessian is by far the dearest sum.
It is asked for again far from the minimum, and when the old one no longer points well; only the way
to the solution depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from glassleaf import _kernels
from glassleaf.fit.models.slopes import Chain, by_slopes, kept, slopes_of, weights_of

Floats = NDArray[np.float64]


class HessianUse(Enum):
    """When a Hessian is summed anew: it is by far the dearest sum, but never needed exactly."""

    RENEW = "at every step"
    KEEP = "far from the minimum, or when the old one no longer makes good progress"
    CONSTANT = "once"
    LEARN = "far from the minimum; then steps tell what it lacks"


_MAX_ROUNDS = 200
_MAX_HALVINGS = 40
_MAX_DESCENTS = 10_000
# Share of the predicted decrease that a step must bring (Armijo's rule). Much less would let a
# step through that leaves outliers far on the wrong side, from where it is a long way back.
_SUFFICIENT = 0.3
# A step that brought more than predicted by this factor may be doubled: the way to a far optimum
# (a rare category without events) is a chain of steps of one.
_PROMISING = 1.1
# Far from the minimum, where a step should bring more than this share of the objective, the Hessian
# changes much on the way: it is asked for together with the sums at the new point.
_FAR = 0.01
# A step that leaves more than this share of the last predicted decrease calls for a new Hessian.
_STALE = 0.25
# Decrease that may be left, relative to the objective at the start, when a model is fitted; looser
# where passes over the rows are dear, which is where there are many of them. The last step is
# taken unseen.
_TIGHT = {
    HessianUse.RENEW: 1e-12,
    HessianUse.KEEP: 1e-8,
    HessianUse.CONSTANT: 1e-12,
    HessianUse.LEARN: 1e-11,
}
# A step may leave ten times the share that the one before it left.
_SAFETY = 0.1
# Predicted decrease, per column, that is not worth another dear Hessian: chance alone makes half a
# unit of the loss per parameter, and the way of a rare category without events to its far
# optimum is long.
_NEGLIGIBLE = 1e-4
# Longest change of a parameter (per standard deviation of its column) that is believed unseen.
_LONGEST_UNSEEN = 0.1
# A quadratic loss has its minimum after one step. No second look is needed where the equations are
# this far from singular, and enough of the loss is left that the difference has its digits.
_WELL_CONDITIONED = 1e-3
_LEFT_OVER = 1e-5
# Eigenvalues below this share of the largest are treated as zero (collinear columns, alpha = 0).
_SINGULAR = 1e-11
# A curvature below this share of what it is a difference of is rounding.
_SAID_BEFORE = 1e-9
# Share of its own curvature that is added to every parameter's in a cautious step. With half of it,
# rows far out on a small side whose targets vary much made 17 of 100 trees split in vain.
_CAUTION = 1.0


@dataclass(frozen=True)
class Penalty:
    """Elastic net on the weights of a model, in standardized units, and bounds on them.

    The squares are those of the distance from ``towards``, the weights of the parent's model, or
    from zero. The absolute values are always those of the weights: they make formulas short. Of
    weights in ``chains``, the bounds are those of their slopes; there is no L1 norm then.
    """

    alpha: float = 1.0
    l1_ratio: float = 0.0
    lower: Floats | None = None
    upper: Floats | None = None
    towards: Floats | None = None
    chains: tuple[Chain, ...] = ()

    @property
    def is_bounded(self) -> bool:
        return self.lower is not None or self.upper is not None

    @property
    def is_smooth(self) -> bool:
        return self.alpha * self.l1_ratio == 0 and not self.is_bounded

    @property
    def l1(self) -> float:
        return self.alpha * self.l1_ratio

    @property
    def l2(self) -> float:
        return self.alpha * (1 - self.l1_ratio)

    def value(self, theta: Floats) -> float:
        """The penalty of parameters of shape (outputs, columns + 1)."""
        distance = self.distance(theta).ravel()
        squares = 0.5 * self.l2 * float(distance @ distance)
        return squares + self.l1 * float(np.abs(theta[:, :-1]).sum()) if self.l1 else squares

    def slope(self, theta: Floats, gradient: Floats) -> Floats:
        """The gradient of the loss with that of the squares."""
        out = gradient.copy()
        out[:, :-1] += self.l2 * self.distance(theta)
        return out

    def distance(self, theta: Floats) -> Floats:
        """How far the weights are from where the penalty pulls them."""
        weights = theta[:, :-1]
        return weights if self.towards is None else weights - self.towards


@dataclass(frozen=True)
class Sums:
    """Loss, gradient and Hessian at some parameters, in the node's units."""

    loss: float
    gradient: Floats
    hessian: Floats | None
    pearson: float = 0.0


class Quadratic(Protocol):
    """What is known of how the penalized loss of a node curves."""

    @property
    def is_well_conditioned(self) -> bool:
        """Whether rounding does not matter in a step, and it leads to the minimum."""

    def step(self, theta: Floats, gradient: Floats) -> tuple[Floats, float]:
        """The change that minimizes the quadratic model, and the decrease it predicts."""

    def saw(self, change: Floats, slope_change: Floats) -> None:
        """Take note of how the slope of the penalized loss changed along a step."""

    def shrinkage(self) -> Floats:
        """For every direction of the parameters, the share that the penalty leaves of it."""

    def loss_change(self, gradient: Floats, change: Floats) -> float:
        """What the quadratic model says of the loss alone, without the penalty."""


class QuadraticModel:
    """The Hessian of a node (which it takes over), kept ready to solve for any gradient."""

    def __init__(self, hessian: Floats, penalty: Penalty) -> None:
        n_outputs, size = hessian.shape[:2]
        self._penalty = penalty
        self._shape = (n_outputs, size)
        matrix = np.ascontiguousarray(hessian).reshape(n_outputs * size, -1)
        diagonal = matrix.reshape(-1)[:: len(matrix) + 1]
        # A column that is constant in the node has an all-zero row: it stays where it is.
        moves = diagonal > 0
        self._active: NDArray[np.bool_] | slice = slice(None) if moves.all() else moves
        diagonal.reshape(self._shape)[:, :-1] += penalty.l2
        if n_outputs > 1 and penalty.is_smooth:
            _add_common_direction(matrix, n_outputs, size)
        self._matrix = np.ascontiguousarray(matrix[self._active][:, self._active])
        self._factor = _factorize(self._matrix) if penalty.is_smooth else None

    def step(self, theta: Floats, gradient: Floats) -> tuple[Floats, float]:
        """The change that minimizes the quadratic model, and the decrease it predicts."""
        slope = self._penalty.slope(theta, gradient).ravel()[self._active]
        change = np.zeros(theta.size)
        if self._factor is not None:
            solved = -self._factor.solve(slope)
            predicted = -0.5 * float(slope @ solved)
        else:
            solved, predicted = self._constrained_step(theta.ravel()[self._active], slope)
        change[self._active] = solved
        return change.reshape(self._shape), predicted

    def saw(self, change: Floats, slope_change: Floats) -> None:
        """Nothing is learned from steps: the Hessian says it all."""

    def solved(self, slope: Floats) -> Floats:
        """The inverse of the matrix times a slope; for a smooth penalty."""
        assert self._factor is not None
        out = np.zeros(slope.size)
        out[self._active] = self._factor.solve(slope.ravel()[self._active])
        return out.reshape(self._shape)

    @property
    def is_well_conditioned(self) -> bool:
        """Whether rounding does not matter in a step: every column differs from the others."""
        return self._factor is not None and self._factor.least_pivot > _WELL_CONDITIONED

    def shrinkage(self) -> Floats:
        """For every direction of the parameters, the share that the penalty leaves of it.

        Their sum is the effective number of parameters.
        """
        factor = self._factor or _factorize(self._matrix)
        ridge = np.full(self._shape, self._penalty.l2)
        ridge[:, -1] = 0.0
        ridge = ridge.ravel()[self._active] * factor.scale**2
        # I - R' ridge R, where R R' is the inverse of the penalized matrix (scaled to diagonal 1).
        root = factor.inverse_root()
        left = np.eye(root.shape[1]) - (root.T * ridge) @ root
        return np.clip(np.linalg.eigvalsh(left), 0.0, 1.0)

    def loss_change(self, gradient: Floats, change: Floats) -> float:
        """What the quadratic model says of the loss alone, without the penalty."""
        weights = change[:, :-1]
        moved = change.ravel()[self._active]
        curved = float(moved @ self._matrix @ moved) - self._penalty.l2 * float((weights**2).sum())
        return float((gradient * change).sum()) + 0.5 * curved

    def _constrained_step(self, old: Floats, slope: Floats) -> tuple[Floats, float]:
        """The same with the L1 norm and the bounds, by coordinate descent."""
        matrix, chains = self._matrix, self._chains()
        l1 = np.full(self._shape, self._penalty.l1)
        l1[:, -1] = 0.0
        l1 = l1.ravel()[self._active]
        lower = self._bound(self._penalty.lower, -np.inf)
        upper = self._bound(self._penalty.upper, np.inf)
        linear = slope - matrix @ old
        tolerance = 1e-16 * (abs(float(linear @ old)) + float(np.abs(slope).sum()))
        turned = by_slopes(by_slopes(matrix, chains).T, chains) if chains else matrix
        new = np.clip(slopes_of(old, chains), lower, upper)
        _kernels.descend_coordinates(
            np.ascontiguousarray(turned), by_slopes(linear, chains), l1, lower, upper, new,
            tolerance, _MAX_DESCENTS,
        )  # fmt: skip
        new = weights_of(new, chains)
        change = new - old
        with np.errstate(over="ignore", invalid="ignore"):
            curved = 0.5 * float(change @ matrix @ change)
            penalized = float(l1 @ (np.abs(new) - np.abs(old)))
            predicted = -(float(slope @ change) + curved + penalized)
        if not np.isfinite(predicted):  # columns so alike that rounding lets the descent run away
            return np.clip(old, lower, upper) - old, 0.0
        return change, predicted

    def _chains(self) -> tuple[Chain, ...]:
        """Those of the weights that move; bounds are for single outputs alone."""
        if isinstance(self._active, slice):
            return self._penalty.chains
        return kept(self._penalty.chains, self._active)

    def _bound(self, given: Floats | None, default: float) -> Floats:
        out = np.full(self._shape, default)
        if given is not None:
            out[:, :-1] = given
        return out.ravel()[self._active]


def _add_common_direction(matrix: Floats, n_outputs: int, size: int) -> None:
    """Make the direction that adds the same to every class definite; softmax ignores it.

    Gradient and ridge penalty never leave its complement, so the solution is the same.
    """
    # Rounding alone decides the sign of products of a column that is nearly constant.
    diagonal = np.maximum(np.diagonal(matrix), 0.0).reshape(n_outputs, size).mean(axis=0)
    for k in range(n_outputs):
        for other in range(n_outputs):
            index = np.arange(size)
            matrix[k * size + index, other * size + index] += diagonal


@dataclass(frozen=True)
class _Factor:
    """A matrix in factors, up to the scale of its diagonal.

    ``root`` is its triangular (Cholesky) root, or else a root of its inverse.
    """

    root: Floats
    scale: Floats
    is_triangular: bool
    least_pivot: float = 0.0  # what is left of a column when those before it are taken out

    def inverse_root(self) -> Floats:
        """A matrix R so that R R' is the inverse of the scaled matrix."""
        if not self.is_triangular:
            return self.root
        inverse, _ = linalg.lapack.dtrtri(self.root, lower=0)
        return np.triu(inverse)

    def solve(self, slope: Floats) -> Floats:
        if self.is_triangular:
            solved, _ = linalg.lapack.dpotrs(self.root, slope * self.scale, lower=0)
            return np.asarray(solved * self.scale)
        return np.asarray((self.root @ (self.root.T @ (slope * self.scale))) * self.scale)


def _factorize(matrix: Floats) -> _Factor:
    """Cholesky where the matrix is safely definite, else its eigenvectors without the null space.

    The diagonal is scaled to one first: what is small must be so in relation to its column.
    """
    scale = 1.0 / np.sqrt(np.diagonal(matrix))
    scaled = matrix * scale
    scaled *= scale[:, None]
    if len(matrix):
        # The transpose of a symmetric matrix is itself, in the order of memory LAPACK wants.
        root, info = linalg.lapack.dpotrf(scaled.T, lower=0, clean=0)
        least = float(np.diagonal(root).min() ** 2)
        if info == 0 and least > _SINGULAR:
            return _Factor(root, scale, is_triangular=True, least_pivot=least)
    values, vectors = np.linalg.eigh(scaled)
    keep = values > _SINGULAR * max(1.0, float(values[-1]) if len(values) else 1.0)
    return _Factor(vectors[:, keep] / np.sqrt(values[keep]), scale, is_triangular=False)


def pseudo_inverse(matrix: Floats) -> Floats:
    """The inverse of a Hessian without its null space."""
    root = _root_of_inverse(matrix, np.diagonal(matrix) > 0)
    return np.asarray(root @ root.T)


def root_of_ridge(matrix: Floats, ridge: Floats, whole: Floats) -> Floats:
    """A root R of the pseudo-inverse of a matrix with a ridge, ``R R' = inv(matrix + ridge)``.

    Parameters of which the matrix holds next to nothing of their curvature ``whole`` are left out.
    """
    varies = np.diagonal(matrix) > _SAID_BEFORE * whole
    return _root_of_inverse(0.5 * (matrix + matrix.T) + np.diag(ridge), varies)


def axes_of_some(matrix: Floats, ridge: Floats, whole: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """The same for some of the parameters, the others being free: R' times what is left of them.

    Of a gradient g this is ``g_chosen - M_chosen,other inv(M_other) g_other``.
    """
    mixed = matrix[np.ix_(chosen, ~chosen)]
    slopes = mixed @ pseudo_inverse(matrix[np.ix_(~chosen, ~chosen)])
    left = matrix[np.ix_(chosen, chosen)] - slopes @ mixed.T
    root = root_of_ridge(left, ridge[chosen], whole[chosen])
    out = np.zeros((root.shape[1], len(matrix)))
    out[:, chosen], out[:, ~chosen] = root.T, -root.T @ slopes
    return out


def _root_of_inverse(matrix: Floats, varies: NDArray[np.bool_]) -> Floats:
    factor = _factorize(matrix[np.ix_(varies, varies)])
    root = factor.inverse_root() * factor.scale[:, None]
    out = np.zeros((len(matrix), root.shape[1]))
    out[varies] = root
    return out


def cautious_step(hessian: Floats, slope: Floats) -> tuple[Floats, float]:
    """A Newton step of about half its length, which no single row can make its own.

    Returns the step and how many squared residuals' worth of scatter it takes from the rows.
    """
    inverse = pseudo_inverse(hessian + _CAUTION * np.diag(np.diagonal(hessian)))
    share = inverse @ hessian
    n_taken = 2.0 * np.trace(share) - float((share * share.T).sum())
    return -inverse @ slope, n_taken


class NewtonFit:
    """The state of one node's fit: ``request`` says what to sum next, ``receive`` takes it.

    Fits of many nodes can run side by side: one pass gives the sums of a round.
    """

    def __init__(
        self,
        start: Floats,
        penalty: Penalty,
        hessian_use: HessianUse,
        choose_penalty: Callable[[Penalty, Sums], Penalty] | None = None,
        quadratic: Callable[[Floats, Penalty], Quadratic] = QuadraticModel,
    ) -> None:
        """``choose_penalty`` may change the penalty when the sums at the start are known.

        ``quadratic`` makes a model of the loss of a Hessian.
        """
        self.theta = start
        self.is_done = False
        self.loss = np.nan
        self.pearson = 0.0
        self.request: tuple[Floats, bool] = (start, True)
        self._use = hessian_use
        self.penalty = penalty
        self._choose_penalty = choose_penalty
        self._model_of = quadratic
        self._quadratic: Quadratic | None = None
        self._gradient = np.zeros_like(start)
        self._objective = np.inf
        self._scale = 0.0
        self._step = np.zeros_like(start)
        self._predicted = np.inf
        self._length = 1.0
        self._is_promising = False
        self._rounds = 0

    def receive(self, sums: Sums) -> None:
        """Take the sums asked for; either finish or prepare the next request."""
        self._rounds += 1
        trial, _ = self.request
        if self._quadratic is None and self._choose_penalty is not None:
            self.penalty = self._choose_penalty(self.penalty, sums)
        objective = sums.loss + self.penalty.value(trial)
        if self._quadratic is None:
            self._scale = max(objective, 0.0)
        elif trial is not self.theta and not self._is_sufficient(objective):
            self._shorten()
            return
        has_moved = trial is not self.theta
        if has_moved:
            self._is_promising = self._objective - objective > _PROMISING * self._predicted
        before = self.theta, self._gradient
        self.theta, self.loss, self._objective = trial, sums.loss, objective
        self._gradient = sums.gradient
        if sums.hessian is not None:
            self._quadratic = self._model_of(sums.hessian, self.penalty)
            self.pearson = sums.pearson
        elif has_moved:
            self._learn(*before)
        self._advance(sums.gradient, sums.hessian is not None, has_moved)

    def _learn(self, theta: Floats, gradient: Floats) -> None:
        """Let the quadratic model know how the slope has changed since the point before."""
        if self._use is HessianUse.LEARN:
            assert self._quadratic is not None
            here = self.penalty.slope(self.theta, self._gradient)
            self._quadratic.saw(self.theta - theta, here - self.penalty.slope(theta, gradient))

    def _is_sufficient(self, objective: float) -> bool:
        rounding = 1e-14 * abs(self._objective)
        wanted = self._objective - _SUFFICIENT * self._length * self._predicted + rounding
        return bool(np.isfinite(objective)) and objective <= wanted

    def _shorten(self) -> None:
        self._length *= 0.5
        if self._length < 0.5**_MAX_HALVINGS or self._rounds >= _MAX_ROUNDS:
            self.is_done = True
            return
        self.request = (self.theta + self._length * self._step, False)

    def _advance(self, gradient: Floats, is_fresh: bool, has_moved: bool) -> None:
        assert self._quadratic is not None
        before = self._predicted
        self._step, self._predicted = self._quadratic.step(self.theta, gradient)
        is_stale = (
            self._use is not HessianUse.CONSTANT
            and not is_fresh
            and (self._length < 1 or self._predicted > _STALE * before)
        )
        if self._use is HessianUse.LEARN:
            is_stale = is_stale and self._length < 1
        enough = _TIGHT[self._use] * self._scale
        if self._use is HessianUse.KEEP:
            enough /= len(self.theta) ** 2  # what is left may be that of the rarest of many classes
            if is_stale:
                enough = max(enough, _NEGLIGIBLE * self.theta.shape[1])
        left = self._predicted
        if has_moved and self._length == 1 and self._is_short():
            # What the step will leave, if it leaves no larger a share than the one before did.
            left *= min(self._predicted / (_SAFETY * before), 1.0)
        if left <= enough or self._is_exact(gradient):
            self._finish(gradient)
        elif self._rounds >= _MAX_ROUNDS:
            self.is_done = True
        elif is_stale:
            self.request = (self.theta, True)
        else:
            # Twice a step within bounds may lead out of them.
            self._length = 2.0 if self._is_promising and not self.penalty.is_bounded else 1.0
            trial = self.theta + self._length * self._step
            self.request = (trial, self._wants_hessian())

    def _wants_hessian(self) -> bool:
        if self._use in (HessianUse.KEEP, HessianUse.LEARN):
            return self._predicted > _FAR * self._scale
        return self._use is HessianUse.RENEW

    def _is_exact(self, gradient: Floats) -> bool:
        """Whether the step leads to the minimum for sure, and its loss is known well enough."""
        assert self._quadratic is not None
        if self._use is not HessianUse.CONSTANT or not self._quadratic.is_well_conditioned:
            return False
        left = self.loss + self._quadratic.loss_change(gradient, self._step)
        return left > _LEFT_OVER * self._scale

    def _is_short(self) -> bool:
        return bool(np.abs(self._step).max() <= _LONGEST_UNSEEN)

    def _finish(self, gradient: Floats) -> None:
        """Take the last step too, unseen, unless it is a long one across a flat valley."""
        assert self._quadratic is not None
        is_exact = self._use is HessianUse.CONSTANT
        if is_exact or self._is_short():
            self.loss += self._quadratic.loss_change(gradient, self._step)
            self.theta = self.theta + self._step
        self.is_done = True

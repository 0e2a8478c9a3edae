"""Pointwise losses: the target and the raw prediction, nothing else.

Conventions
-----------
* ``raw`` is the linear predictor: shape ``(n,)`` if ``n_outputs == 1``, else ``(n, n_outputs)``.
* ``derivatives`` returns the value, the gradient and the Hessian with respect to ``raw``, without
  sample weights. Of the Hessian of K > 1 outputs only the lower triangle is given, one row of it
  after the other: shape ``(n, K * (K + 1) / 2)``.
* The value is zero for a perfect prediction wherever that is possible.
* Targets arrive as float64; classes arrive as the numbers 0, 1, ..., K - 1. Of two classes with one
  score, the positive one arrives as 1, whichever of the sorted labels it is (``positive``).

A loss knows nothing of coefficients, penalties or trees. To add one, subclass :class:`Loss` and
pass an instance as ``loss=``; ``docs/extending.md`` shows one, ``tests/test_losses.py`` says what
every loss must satisfy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from glassleaf import _kernels

Floats = NDArray[np.float64]

# A row far on the wrong side pulls hard but has hardly any second derivative: Newton's step would
# throw it across the table. Beyond these log-odds the slope of the secant to even odds takes its
# place, which bounds the loss from above.
FAR_WRONG = 3.0
# Outputs above which each curves by itself: pairs of outputs grow with their square, and shares of
# many classes are mostly small, so that two of them hardly curve together.
MANY_OUTPUTS = 20
# Interquartile range of a standard normal variable.
_NORMAL_IQR = 1.349


class Loss(ABC):
    """What a weak model minimizes; see the module's conventions."""

    n_outputs: int = 1
    is_quadratic: bool = False
    # The second derivative of a row whose outcome is as open as can be: what the row has to say.
    row_curvature: float = 1.0
    # Whether targets may vary more than the loss assumes, by a factor to be estimated: counts.
    is_overdispersed: bool = False
    # Whether how far targets vary around a model is a number of its own, to be estimated.
    has_dispersion: bool = False
    # The power of their mean that the spread of targets grows with; not 0: none is negative.
    spread_power: float = 0.0
    # The name of the link, for explanations and exports: identity, log, logit, softmax, or custom.
    link: str = "identity"
    # Of two classes with one score: which of the sorted labels a higher score speaks for.
    positive: int = 1
    # The loss of k y is this power of k times that of y, of the predictions that are k times as
    # large. It matters where ``target_units`` has a scale.
    degree: float = 2.0

    @abstractmethod
    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        """Loss of every row, and its first and second derivative by ``raw``.

        The second may be a close upper bound, and is never negative; it may be anything if the
        Hessian is not asked for.
        """

    @property
    def is_apart(self) -> bool:
        """Whether only the curvature of each output is summed, not that of two of them."""
        return self.n_outputs > MANY_OUTPUTS

    def derivatives_apart(self, y: Floats, raw: Floats) -> tuple[Floats, Floats, Floats]:
        """``derivatives`` with the second derivatives of each output alone, (rows, outputs)."""
        value, slope, packed = self.derivatives(y, raw)
        return value, slope, packed[:, np.equal(*np.tril_indices(self.n_outputs))]

    def curvature(self, y: Floats, raw: Floats) -> Floats:
        """The second derivative itself, where that of ``derivatives`` is a bound of it."""
        return self.derivatives(y, raw)[2]

    def information(self, y: Floats, raw: Floats) -> Floats:
        """What every row tells of ``raw``: the second derivative that is expected of it."""
        return self.curvature(y, raw)

    def inverse_link(self, raw: Floats) -> Floats:
        """Raw prediction to the scale of y (classes: to probabilities, by sorted labels)."""
        return raw

    def log_inverse_link(self, raw: Floats) -> Floats:
        """Logarithm of ``inverse_link``; override it where it can be computed without underflow."""
        with np.errstate(divide="ignore"):
            return np.log(self.inverse_link(raw))

    def check_target(self, y: Floats) -> None:
        """Raise ``ValueError`` if y lies outside the range of this loss."""

    def target_units(self, y: Floats, weight: Floats) -> tuple[float, float]:
        """Center and scale in which y is handed to the other methods, (0, 1) for "as it is".

        With a log link the center is 0.
        """
        return 0.0, 1.0

    def without_offset(self, y: Floats, weight: Floats, offset: Floats) -> tuple[Floats, Floats]:
        """Targets and weights whose loss at ``raw`` is that of y at ``raw + offset``.

        Its derivatives by ``raw`` are the same; the loss itself may differ by a constant.
        """
        raise ValueError(f"{type(self).__name__} is a loss that takes no offset.")

    def scores_to_watch(self, raw: Floats) -> Floats:
        """Predictions at raw scores (rows, outputs): one column, of several classes one of each."""
        found = self.inverse_link(raw if self.n_outputs > 1 else raw[:, 0])
        return found[:, None] if found.ndim == 1 else found

    def start(self, y: Floats, weight: Floats) -> Floats:
        """Raw prediction to start the root from, one number per output."""
        return np.zeros(self.n_outputs)

    def support(self, y: Floats, weight: Floats) -> Floats:
        """Additive statistics by which a node sees that some outcome never occurs in it."""
        return np.zeros(0)

    def dispersion(self, mean_loss: float) -> float:
        """Variance of the target around a model, as a multiple of what the loss assumes.

        ``mean_loss`` is the loss per row (and degree of freedom) of a good model. A loss that is
        the negative logarithm of a probability assumes the right one: 1. If it says that it
        ``is_overdispersed``, Pearson's statistic is taken instead, but at least 1: the mean of
        squared first over second derivatives.
        """
        return 1.0

    def pseudo_rows(self, support: Floats) -> tuple[Floats, Floats]:
        """Targets and weights of imagined rows for the outcomes a node lacks.

        Where a class never occurs, the best log-odds are infinite. Half a row of that class, put
        at the node's mean, keeps them finite and as extreme as the node's size allows.
        """
        return np.zeros(0), np.zeros(0)


def weighted_quantile(y: Floats, weight: Floats, share: float) -> float:
    """Smallest value with at least this share of the weight at or below it.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0]), 0.5)
    2.0
    """
    order = np.argsort(y, kind="stable")
    cumulative = np.cumsum(weight[order])
    # The tolerance makes k copies of a row and one row of weight k agree.
    position = np.searchsorted(cumulative, share * cumulative[-1] * (1 - 1e-12))
    return float(y[order][min(int(position), len(y) - 1)])


def _require_range(y: Floats, inside: NDArray[np.bool_], loss: str, accepted: str) -> None:
    if not inside.all():
        row = int(np.argmin(inside))
        raise ValueError(
            f"loss={loss!r} needs {accepted}; y[{row}] is {float(y[row])!r}."
            " Use another loss or remove such rows."
        )


def _require_counts(y: Floats, loss: str) -> None:
    _require_range(y, y >= 0, loss, "y >= 0")
    if not y.any():
        raise ValueError(f"loss={loss!r} needs at least one y > 0; every y is 0.")


def _require_between(name: str, value: float, low: float, high: float) -> None:
    if not isinstance(value, (int, float)) or not low < value < high:
        ends = f"> {low:g}" if high == np.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name}={value!r} must be a number {ends}.")


def mean_and_spread(y: Floats, weight: Floats) -> tuple[float, float]:
    """Weighted mean and standard deviation; a constant has spread 1, so that it can divide."""
    center = float(np.average(y, weights=weight))
    spread = float(np.sqrt(np.average((y - center) ** 2, weights=weight)))
    return center, spread if spread > 1e-12 * abs(center) else 1.0


class _OfResiduals(Loss):
    """A loss of the difference between the target and the raw prediction."""

    def without_offset(self, y: Floats, weight: Floats, offset: Floats) -> tuple[Floats, Floats]:
        return y - offset, weight


class _LogLink(Loss):
    """A loss whose raw prediction is the logarithm of the expected target."""

    link = "log"

    def inverse_link(self, raw: Floats) -> Floats:
        return _exp(raw)

    def start(self, y: Floats, weight: Floats) -> Floats:
        return np.log(np.atleast_1d(np.average(y, weights=weight)))


class _Deviance(_LogLink):
    """Half the deviance of a variance that is a power of the mean."""

    def without_offset(self, y: Floats, weight: Floats, offset: Floats) -> tuple[Floats, Floats]:
        return y * np.exp(-offset), weight * np.exp(self.degree * offset)


def _robust_spread(y: Floats, weight: Floats) -> float:
    """The standard deviation of a normal variable with the same interquartile range."""
    spread = (weighted_quantile(y, weight, 0.75) - weighted_quantile(y, weight, 0.25)) / _NORMAL_IQR
    return spread if spread > 0 else mean_and_spread(y, weight)[1]


@dataclass(frozen=True)
class SquaredError(_OfResiduals):
    """Half the squared error, ``(y - raw)**2 / 2``."""

    is_quadratic = True
    has_dispersion = True

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        return _filled(_kernels.squared_error, y, raw)

    def dispersion(self, mean_loss: float) -> float:
        return 2.0 * mean_loss

    def target_units(self, y: Floats, weight: Floats) -> tuple[float, float]:
        return mean_and_spread(y, weight)


@dataclass(frozen=True)
class Huber(_OfResiduals):
    """Squared error near the target, absolute error beyond ``delta``.

    ``delta`` is in units of the target's spread (its interquartile range / 1.349, which is the
    standard deviation of a normal variable), so that rescaling y changes nothing.
    """

    delta: float = 1.35
    has_dispersion = True

    # Beyond delta the second derivative is 0. A node with most rows out there would have a
    # singular Hessian; this little curvature keeps Newton steps finite, not the solution different.
    _far_curvature = 0.01

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        return _filled(_kernels.huber, y, raw, float(self.delta), self._far_curvature)

    def curvature(self, y: Floats, raw: Floats) -> Floats:
        return np.asarray(np.abs(y - raw) <= self.delta, dtype=np.float64)

    def information(self, y: Floats, raw: Floats) -> Floats:
        """The share of rows near the model: whichever these are, if all vary alike."""
        return np.full(len(y), max(np.mean(np.abs(y - raw) <= self.delta), self._far_curvature))

    def dispersion(self, mean_loss: float) -> float:
        return 2.0 * mean_loss

    def target_units(self, y: Floats, weight: Floats) -> tuple[float, float]:
        return weighted_quantile(y, weight, 0.5), _robust_spread(y, weight)


@dataclass(frozen=True)
class Quantile(_OfResiduals):
    """The line below which this share of the targets lies; errors below and above weigh unequally.

    The loss has a corner at the target, which is rounded within ``smoothing`` (in units of the
    target's spread, as Huber's ``delta``): a model then moves a little, and trees grow better.
    """

    quantile: float = 0.5
    smoothing: float = 0.1

    degree = 1.0
    # Rows far from the model have no second derivative. Up to here they get that of a parabola
    # which bounds the loss, beyond it less and less: small quantiles have hardly any other rows.
    _near = 0.3

    def __post_init__(self) -> None:
        _require_between("quantile", self.quantile, 0.0, 1.0)
        _require_between("smoothing", self.smoothing, 0.0, np.inf)

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        residual = y - raw
        distance = np.abs(residual)
        wide = np.maximum(distance, self.smoothing)
        half = 0.5 * self.smoothing
        rounded = np.where(distance < wide, 0.5 * distance**2 / wide, distance - half)
        tilt = self.quantile - 0.5
        value = tilt * residual + 0.5 * rounded + self.smoothing * tilt**2  # never below zero
        slope = -(tilt + 0.5 * residual / wide)
        return value, slope, 0.5 / wide * np.minimum(1.0, self._near / wide) ** 2

    def curvature(self, y: Floats, raw: Floats) -> Floats:
        return np.where(np.abs(y - raw) < self.smoothing, 0.5 / self.smoothing, 0.0)

    def dispersion(self, mean_loss: float) -> float:
        return mean_loss

    def target_units(self, y: Floats, weight: Floats) -> tuple[float, float]:
        return weighted_quantile(y, weight, self.quantile), _robust_spread(y, weight)


@dataclass(frozen=True)
class Poisson(_Deviance):
    """Half the Poisson deviance of counts or rates, log link."""

    is_overdispersed = True
    spread_power = 0.5
    degree = 1.0

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        return _filled(_kernels.poisson, y, raw)

    def check_target(self, y: Floats) -> None:
        _require_counts(y, "poisson")

    def target_units(self, y: Floats, weight: Floats) -> tuple[float, float]:
        """Amounts are divided by their dispersion: they then vary as counts do."""
        mean = float(np.average(y, weights=weight))
        dispersion = float(np.average((y - mean) ** 2, weights=weight)) / mean
        return 0.0, dispersion if dispersion > 0 else mean

    def support(self, y: Floats, weight: Floats) -> Floats:
        return np.array([y @ weight])

    def pseudo_rows(self, support: Floats) -> tuple[Floats, Floats]:
        return _half_an_event(support)


@dataclass(frozen=True)
class Gamma(_Deviance):
    """Half the gamma deviance of positive amounts, log link."""

    has_dispersion = True
    spread_power = 1.0
    degree = 0.0

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        return _filled(_kernels.gamma, y, raw)

    def information(self, y: Floats, raw: Floats) -> Floats:
        return np.ones(len(y))

    def dispersion(self, mean_loss: float) -> float:
        return 2.0 * mean_loss

    def check_target(self, y: Floats) -> None:
        _require_range(y, y > 0, "gamma", "y > 0")


@dataclass(frozen=True)
class Tweedie(_Deviance):
    """Half the Tweedie deviance of amounts that may be 0, log link.

    The variance is the mean to the ``power``: above 1, where it is Poisson's, and below 2, where it
    is that of the gamma distribution.
    """

    power: float = 1.5

    has_dispersion = True

    def __post_init__(self) -> None:
        _require_between("power", self.power, 1.0, 2.0)

    @property
    def degree(self) -> float:  # type: ignore[override]
        return 2.0 - self.power

    @property
    def spread_power(self) -> float:  # type: ignore[override]
        return self.power / 2.0

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        more, less = 2.0 - self.power, 1.0 - self.power
        high, low = _exp(more * raw), y * _exp(less * raw)
        value = high / more - low / less + y**more / (more * less)
        return value, high - low, more * high - less * low

    def information(self, y: Floats, raw: Floats) -> Floats:
        return _exp((2.0 - self.power) * raw)

    def dispersion(self, mean_loss: float) -> float:
        return 2.0 * mean_loss

    def check_target(self, y: Floats) -> None:
        _require_counts(y, "tweedie")

    def target_units(self, y: Floats, weight: Floats) -> tuple[float, float]:
        return 0.0, float(np.average(y, weights=weight))

    def support(self, y: Floats, weight: Floats) -> Floats:
        return np.array([y @ weight])

    def pseudo_rows(self, support: Floats) -> tuple[Floats, Floats]:
        return _half_an_event(support)


@dataclass(frozen=True)
class NegativeBinomial(_LogLink):
    """Half the deviance of counts whose variance is ``mean + theta * mean**2``, log link."""

    theta: float = 1.0

    spread_power = 0.5

    def __post_init__(self) -> None:
        _require_between("theta", self.theta, 0.0, np.inf)

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        mean = _exp(raw)
        wide = 1.0 + self.theta * mean
        share = mean / wide
        logarithm = np.log(np.where(y > 0, y, 1.0)) - np.minimum(raw, _kernels.LARGEST_EXPONENT)
        value = y * logarithm - (y + 1.0 / self.theta) * np.log((1.0 + self.theta * y) / wide)
        return value, share - y / wide, share * (1.0 + self.theta * y) / wide

    def information(self, y: Floats, raw: Floats) -> Floats:
        mean = _exp(raw)
        return mean / (1.0 + self.theta * mean)

    def check_target(self, y: Floats) -> None:
        _require_counts(y, "negative_binomial")

    def support(self, y: Floats, weight: Floats) -> Floats:
        return np.array([y @ weight])

    def pseudo_rows(self, support: Floats) -> tuple[Floats, Floats]:
        return _half_an_event(support)


@dataclass(frozen=True)
class BinaryLogLoss(Loss):
    """Log loss of two classes; ``raw`` is the log-odds of the positive one."""

    positive: int = 1
    link = "logit"
    row_curvature = 0.25

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        return _filled(_kernels.binary_log_loss, y, raw, FAR_WRONG)

    def curvature(self, y: Floats, raw: Floats) -> Floats:
        return np.asarray(expit(raw) * expit(-raw))

    def inverse_link(self, raw: Floats) -> Floats:
        return np.column_stack(self._by_label(expit(-raw), expit(raw)))

    def log_inverse_link(self, raw: Floats) -> Floats:
        return np.column_stack(self._by_label(log_expit(-raw), log_expit(raw)))

    def scores_to_watch(self, raw: Floats) -> Floats:
        return np.asarray(expit(raw))  # of the positive class

    def _by_label(self, other: Floats, positive: Floats) -> tuple[Floats, Floats]:
        return (other, positive) if self.positive else (positive, other)

    def start(self, y: Floats, weight: Floats) -> Floats:
        share = np.clip(np.average(y, weights=weight), 1e-15, 1.0 - 1e-15)
        return np.atleast_1d(np.log(share / (1.0 - share)))

    def support(self, y: Floats, weight: Floats) -> Floats:
        return _class_weights(y, weight, 2)

    def pseudo_rows(self, support: Floats) -> tuple[Floats, Floats]:
        return _half_row_per_absent_class(support)


@dataclass(frozen=True)
class MulticlassLogLoss(Loss):
    """Log loss of K classes, softmax of K raw scores."""

    n_outputs: int
    link = "softmax"
    row_curvature = 0.25

    def derivatives(
        self, y: Floats, raw: Floats, with_hessian: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        n_pairs = self.n_outputs * (self.n_outputs + 1) // 2
        return self._filled(y, raw, np.empty((len(y) if with_hessian else 0, n_pairs)))

    def derivatives_apart(self, y: Floats, raw: Floats) -> tuple[Floats, Floats, Floats]:
        if type(self) is not MulticlassLogLoss:  # one derived from it may have other derivatives
            return super().derivatives_apart(y, raw)
        return self._filled(y, raw, np.empty((len(y), self.n_outputs)))

    def _filled(self, y: Floats, raw: Floats, curvature: Floats) -> tuple[Floats, Floats, Floats]:
        value, slope = np.empty(len(y)), np.empty((len(y), self.n_outputs))
        raw = np.ascontiguousarray(raw)
        _kernels.multiclass_log_loss(y, raw, FAR_WRONG, value, slope, curvature)
        return value, slope, curvature

    def curvature(self, y: Floats, raw: Floats) -> Floats:
        share = softmax(raw, axis=1)
        one, other = np.tril_indices(self.n_outputs)
        return np.asarray(share[:, one] * ((one == other) - share[:, other]))

    def inverse_link(self, raw: Floats) -> Floats:
        return np.asarray(softmax(raw, axis=1))

    def log_inverse_link(self, raw: Floats) -> Floats:
        return np.asarray(log_softmax(raw, axis=1))

    def start(self, y: Floats, weight: Floats) -> Floats:
        share = _class_weights(y, weight, self.n_outputs)
        logarithm = np.log(np.maximum(share / share.sum(), 1e-15))
        return np.asarray(logarithm - logarithm.mean())

    def support(self, y: Floats, weight: Floats) -> Floats:
        return _class_weights(y, weight, self.n_outputs)

    def pseudo_rows(self, support: Floats) -> tuple[Floats, Floats]:
        return _half_row_per_absent_class(support)


def _class_weights(y: Floats, weight: Floats, n_classes: int) -> Floats:
    return np.bincount(y.astype(np.intp), weights=weight, minlength=n_classes).astype(np.float64)


def _half_an_event(support: Floats) -> tuple[Floats, Floats]:
    """Half an event where a node has none."""
    without_events = support <= 0
    return np.full(1, 0.5)[without_events], np.ones(1)[without_events]


def _half_row_per_absent_class(support: Floats) -> tuple[Floats, Floats]:
    absent = np.flatnonzero(support <= 0).astype(np.float64)
    return absent, np.full(len(absent), 0.5)


def _exp(raw: Floats) -> Floats:
    return np.exp(np.minimum(raw, _kernels.LARGEST_EXPONENT))


def _filled(
    kernel: Callable[..., None], y: Floats, raw: Floats, *given: float
) -> tuple[Floats, Floats, Floats]:
    value, slope, curvature = np.empty((3, len(y)))
    kernel(y, raw, *given, value, slope, curvature)
    return value, slope, curvature


REGRESSION_LOSSES: dict[str, type[Loss]] = {
    "squared_error": SquaredError,
    "huber": Huber,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "negative_binomial": NegativeBinomial,
    "quantile": Quantile,
}

"""What every loss must satisfy: its derivatives, its zero, its conventions."""

from functools import partial

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import (
    log_loss,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_tweedie_deviance,
)

from glassleaf.losses import (
    FAR_WRONG,
    REGRESSION_LOSSES,
    BinaryLogLoss,
    Gamma,
    Huber,
    MulticlassLogLoss,
    NegativeBinomial,
    Poisson,
    Quantile,
    SquaredError,
    Tweedie,
    weighted_quantile,
)

LOSSES = {
    "squared_error": SquaredError(),
    "huber": Huber(),
    "huber(0.5)": Huber(delta=0.5),
    "poisson": Poisson(),
    "gamma": Gamma(),
    "tweedie": Tweedie(),
    "tweedie(1.9)": Tweedie(power=1.9),
    "negative_binomial": NegativeBinomial(),
    "negative_binomial(0.2)": NegativeBinomial(theta=0.2),
    "quantile": Quantile(),
    "quantile(0.9)": Quantile(quantile=0.9, smoothing=0.2),
    "binary": BinaryLogLoss(),
    "multiclass": MulticlassLogLoss(4),
}
every_loss = pytest.mark.parametrize("name", LOSSES)


def make_rows(name, n=200, spread=2.0):
    """Targets in the loss's range, and raw predictions."""
    rng = np.random.default_rng(0)
    loss = LOSSES[name]
    raw = spread * rng.normal(size=n if loss.n_outputs == 1 else (n, loss.n_outputs))
    if name.startswith(("poisson", "negative_binomial", "tweedie")):
        y = rng.poisson(1.5, n).astype(float)
    elif name == "gamma":
        y = rng.gamma(2.0, 1.0, n)
    elif name == "binary":
        y = rng.integers(0, 2, n).astype(float)
    elif name == "multiclass":
        y = rng.integers(0, 4, n).astype(float)
    else:
        y = rng.normal(size=n)
    return loss, y, raw


def directions(loss, raw):
    """One unit step per output, shaped like raw."""
    for k in range(loss.n_outputs):
        step = np.zeros_like(raw)
        step.reshape(len(raw), -1)[:, k] = 1.0
        yield k, step


def hessians(loss, packed):
    """(rows, outputs, outputs) from lower triangles, given one row after the other."""
    rows, columns = np.tril_indices(loss.n_outputs)
    out = np.empty((len(packed), loss.n_outputs, loss.n_outputs))
    out[:, rows, columns] = out[:, columns, rows] = packed.reshape(len(packed), -1)
    return out


# --- known answers -------------------------------------------------------------------------------


def known(loss, y, raw):
    return tuple(
        np.round(part, 12).tolist() for part in loss.derivatives(np.array(y), np.array(raw))
    )


def test_squared_error_of_two_rows():
    assert known(SquaredError(), [1.0, 2.0], [4.0, 2.0]) == ([4.5, 0.0], [3.0, 0.0], [1.0, 1.0])


def test_huber_is_quadratic_near_and_linear_far():
    value, slope, _ = known(Huber(delta=1.0), [0.0, 0.0, 0.0], [0.5, 3.0, -3.0])
    assert value == [0.125, 2.5, 2.5] and slope == [0.5, 1.0, -1.0]


def test_poisson_at_its_mean_is_zero():
    value, slope, curvature = known(Poisson(), [3.0, 0.0], [np.log(3.0), 0.0])
    assert value == [0.0, 1.0] and slope == [0.0, 1.0] and curvature == [3.0, 1.0]


def test_gamma_at_its_mean_is_zero():
    assert known(Gamma(), [3.0], [np.log(3.0)]) == ([0.0], [0.0], [1.0])


def test_even_odds_cost_log_two():
    value, slope, curvature = known(BinaryLogLoss(), [0.0, 1.0], [0.0, 0.0])
    assert value == np.round([np.log(2)] * 2, 12).tolist()
    assert slope == [0.5, -0.5] and curvature == [0.25, 0.25]


def test_equal_scores_of_k_classes_cost_log_k():
    loss = MulticlassLogLoss(4)
    value, slope, curvature = loss.derivatives(np.array([2.0]), np.zeros((1, 4)))
    np.testing.assert_allclose(value, np.log(4))
    np.testing.assert_allclose(slope, [[0.25, 0.25, -0.75, 0.25]])
    np.testing.assert_allclose(hessians(loss, curvature)[0], np.eye(4) / 4 - 1 / 16)


# --- derivatives ---------------------------------------------------------------------------------


@every_loss
def test_gradient_is_the_slope_of_the_value(name):
    loss, y, raw = make_rows(name)
    _, slope, _ = loss.derivatives(y, raw)
    h = 1e-5
    for k, step in directions(loss, raw):
        up, down = (loss.derivatives(y, raw + sign * h * step)[0] for sign in (1, -1))
        own = slope.reshape(len(y), -1)[:, k]
        np.testing.assert_allclose((up - down) / (2 * h), own, rtol=1e-6, atol=1e-6)


@every_loss
def test_hessian_is_the_slope_of_the_gradient(name):
    loss, y, raw = make_rows(name)
    if name.startswith("huber"):  # beyond delta a little curvature is documented
        raw = y + np.clip(raw, -1, 1) * 0.9 * loss.delta
    if name.startswith("quantile"):  # beyond what is rounded, a bound is documented
        raw = y + np.clip(raw, -1, 1) * 0.9 * loss.smoothing
    value, _, curvature = loss.derivatives(y, raw)
    # Beyond these log-odds (or log loss) on the wrong side another curvature is documented.
    exact = value < FAR_WRONG if name in ("binary", "multiclass") else np.ones(len(y), dtype=bool)
    assert exact.mean() > 0.5
    curvature = hessians(loss, curvature)
    h = 1e-5
    for k, step in directions(loss, raw):
        up, down = (loss.derivatives(y, raw + sign * h * step)[1] for sign in (1, -1))
        numeric = ((up - down) / (2 * h)).reshape(len(y), -1)
        own = curvature[exact, :, k]
        np.testing.assert_allclose(numeric[exact], own, rtol=1e-6, atol=1e-6)


@every_loss
def test_hessian_is_never_negative(name):
    loss, y, raw = make_rows(name, spread=20.0)
    _, _, curvature = loss.derivatives(y, raw)
    assert np.linalg.eigvalsh(hessians(loss, curvature)).min() >= -1e-12


@every_loss
def test_value_and_gradient_do_not_depend_on_whether_the_hessian_is_asked_for(name):
    loss, y, raw = make_rows(name)
    with_hessian, without = loss.derivatives(y, raw), loss.derivatives(y, raw, with_hessian=False)
    for one, other in zip(with_hessian[:2], without[:2], strict=True):
        assert (one == other).all()


@pytest.mark.parametrize("wrong", [1.01 * FAR_WRONG, 10.0, 100.0])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_binary_curvature_far_on_the_wrong_side_bounds_the_loss(wrong, y):
    """Back to even odds, the quadratic model lies nowhere below the loss."""
    loss, target = BinaryLogLoss(), np.array([y])
    raw = wrong if y == 0 else -wrong
    value, slope, curvature = (part[0] for part in loss.derivatives(target, np.array([raw])))
    for share in np.linspace(0, 1, 11):
        step = -share * raw
        model = value + slope * step + 0.5 * curvature * step**2
        assert model >= loss.derivatives(target, np.array([raw + step]))[0][0] - 1e-9
    exact = 1 / (2 + 2 * np.cosh(wrong))
    assert curvature > exact


@every_loss
def test_extreme_predictions_have_finite_derivatives(name):
    loss, y, raw = make_rows(name)
    raw = np.where(raw > 0, 400.0, -400.0)
    with np.errstate(all="raise", under="ignore"):
        for part in loss.derivatives(y, raw):
            assert np.isfinite(part).all()


@every_loss
def test_value_is_zero_for_the_right_answer_and_never_negative(name):
    loss, y, raw = make_rows(name)
    assert loss.derivatives(y, raw)[0].min() >= 0
    if name == "multiclass":
        best = 100.0 * np.eye(4)[y.astype(int)]
    elif name == "binary":
        best = np.where(y == 1, 100.0, -100.0)
    elif loss.link == "log":
        best = np.log(np.maximum(y, 1e-300))
    elif name.startswith("quantile"):  # a rounded corner has its lowest place beside it
        best = y + 2 * loss.smoothing * (loss.quantile - 0.5)
    else:
        best = y
    np.testing.assert_allclose(loss.derivatives(y, best)[0], 0.0, atol=1e-12)


# --- scikit-learn --------------------------------------------------------------------------------


def test_binary_log_loss_is_that_of_scikit_learn():
    loss, y, raw = make_rows("binary")
    probability = loss.inverse_link(raw)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_allclose(loss.derivatives(y, raw)[0].mean(), log_loss(y, probability))


def test_multiclass_log_loss_is_that_of_scikit_learn():
    loss, y, raw = make_rows("multiclass")
    np.testing.assert_allclose(loss.inverse_link(raw), softmax(raw, axis=1))
    expected = log_loss(y, softmax(raw, axis=1))
    np.testing.assert_allclose(loss.derivatives(y, raw)[0].mean(), expected)


@pytest.mark.parametrize(
    ("name", "deviance"),
    [
        ("poisson", mean_poisson_deviance),
        ("gamma", mean_gamma_deviance),
        ("tweedie", partial(mean_tweedie_deviance, power=1.5)),
        ("tweedie(1.9)", partial(mean_tweedie_deviance, power=1.9)),
    ],
)
def test_log_link_losses_are_half_the_deviance(name, deviance):
    loss, y, raw = make_rows(name)
    expected = deviance(y, loss.inverse_link(raw)) / 2
    np.testing.assert_allclose(loss.derivatives(y, raw)[0].mean(), expected)


def test_a_small_corner_is_the_pinball_loss():
    loss, y, raw = Quantile(0.8, smoothing=1e-9), *make_rows("quantile")[1:]
    expected = mean_pinball_loss(y, raw, alpha=0.8)
    np.testing.assert_allclose(loss.derivatives(y, raw)[0].mean(), expected, rtol=1e-6)


def test_little_dispersion_is_poisson():
    _, y, raw = make_rows("poisson")
    ours, expected = (one.derivatives(y, raw) for one in (NegativeBinomial(1e-9), Poisson()))
    for part, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-5, atol=1e-5)


def test_binary_is_the_difference_of_two_softmax_scores():
    _, y, raw = make_rows("binary")
    scores = np.column_stack([np.zeros_like(raw), raw])
    softmax_loss = MulticlassLogLoss(2)
    value, slope, curvature = softmax_loss.derivatives(y, scores)
    one = BinaryLogLoss().derivatives(y, raw)
    np.testing.assert_allclose(value, one[0])
    np.testing.assert_allclose(slope[:, 1], one[1], atol=1e-15)
    near = value < FAR_WRONG
    own = hessians(softmax_loss, curvature)[near, 1, 1]
    np.testing.assert_allclose(own, one[2][near], rtol=1e-9)


# --- offsets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in ("binary", "multiclass")])
def test_without_an_offset_the_derivatives_are_the_same(name):
    loss, y, raw = make_rows(name)
    rng = np.random.default_rng(2)
    weight, offset = rng.random(len(y)), rng.normal(size=len(y))
    if name.startswith("negative_binomial"):
        with pytest.raises(ValueError, match="takes no offset"):
            loss.without_offset(y, weight, offset)
        return
    own, heavy = loss.without_offset(y, weight, offset)
    expected, found = loss.derivatives(y, raw + offset), loss.derivatives(own, raw)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(weight * one, heavy * other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tweedie(power=2.0), "power=2.0 must be a number between 1 and 2"),
        (lambda: NegativeBinomial(theta=0), "theta=0 must be a number > 0"),
        (lambda: Quantile(quantile=1), "quantile=1 must be a number between 0 and 1"),
        (lambda: Quantile(smoothing=0), "smoothing=0 must be a number > 0"),
    ],
)
def test_wrong_parameters(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# --- start, units, support -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["poisson", "gamma", "tweedie", "negative_binomial", "binary", "multiclass"]
)
def test_start_is_the_best_constant(name):
    loss, y, _ = make_rows(name)
    weight = np.random.default_rng(1).random(len(y)) + 0.5
    start = loss.start(y, weight)
    raw = np.tile(start, (len(y), 1))
    _, slope, _ = loss.derivatives(y, raw[:, 0] if loss.n_outputs == 1 else raw)
    np.testing.assert_allclose(weight @ slope.reshape(len(y), -1), 0.0, atol=1e-9)


def test_units_of_huber_are_the_normal_spread():
    y = np.random.default_rng(0).normal(5.0, 3.0, 100_000)
    center, scale = Huber().target_units(y, np.ones(len(y)))
    np.testing.assert_allclose([center, scale], [5.0, 3.0], rtol=0.02)


def test_units_of_a_target_that_is_mostly_one_value_are_positive():
    y = np.r_[np.zeros(99), 1.0]
    for loss in (SquaredError(), Huber()):
        assert loss.target_units(y, np.ones(100))[1] > 0
        assert loss.target_units(np.full(100, 7.0), np.ones(100)) == (7.0, 1.0)


def test_weighted_quantile_of_copies_is_that_of_weights():
    rng = np.random.default_rng(0)
    y, weight = rng.normal(size=30), rng.integers(1, 5, 30)
    for share in np.linspace(0.05, 1, 20):
        copies = np.repeat(y, weight)
        expected = weighted_quantile(copies, np.ones(len(copies)), share)
        assert weighted_quantile(y, weight.astype(float), share) == expected


@pytest.mark.parametrize("loss", [BinaryLogLoss(), MulticlassLogLoss(3)])
def test_absent_classes_get_half_a_row(loss):
    n_classes = max(2, loss.n_outputs)
    y = np.zeros(4)
    target, weight = loss.pseudo_rows(loss.support(y, np.ones(4)))
    assert target.tolist() == list(range(1, n_classes)) and set(weight) == {0.5}
    target, _ = loss.pseudo_rows(loss.support(np.arange(float(n_classes)), np.ones(n_classes)))
    assert len(target) == 0


def test_a_node_without_events_gets_half_an_event():
    loss = Poisson()
    target, weight = loss.pseudo_rows(loss.support(np.zeros(5), np.ones(5)))
    assert (target.tolist(), weight.tolist()) == ([0.5], [1.0])
    target, _ = loss.pseudo_rows(loss.support(np.array([0.0, 1.0]), np.ones(2)))
    assert len(target) == 0


@pytest.mark.parametrize(
    ("name", "y"), [("poisson", [1.0, -1.0]), ("poisson", [0.0, 0.0]), ("gamma", [1.0, 0.0])]
)
def test_targets_out_of_range_are_refused(name, y):
    with pytest.raises(ValueError, match=name):
        REGRESSION_LOSSES[name]().check_target(np.array(y))


# --- what rows tell ------------------------------------------------------------------------------


@every_loss
def test_curvature_is_the_second_derivative_itself(name):
    """Also far on the wrong side, where ``derivatives`` may bound it."""
    loss, y, raw = make_rows(name, spread=5.0)
    found = hessians(loss, loss.curvature(y, raw))
    for k, step in directions(loss, raw):
        ahead, behind = (loss.derivatives(y, raw + sign * 1e-6 * step)[1] for sign in (1, -1))
        slope = ((ahead - behind) / 2e-6).reshape(len(y), -1)
        near = np.isclose(found[:, k], slope, rtol=1e-4, atol=1e-6).all(axis=1)
        assert near.mean() > 0.99  # but for a row at the very bend


@pytest.mark.parametrize("name", ["squared_error", "poisson", "gamma", "binary"])
def test_information_is_expected_curvature(name):
    loss, rng = LOSSES[name], np.random.default_rng(0)
    raw = np.full(200_000, 0.7)
    y = {
        "squared_error": lambda: raw + rng.normal(size=len(raw)),
        "poisson": lambda: rng.poisson(np.exp(raw)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(raw) / 2),
        "binary": lambda: (rng.random(len(raw)) < 1 / (1 + np.exp(-raw))).astype(float),
    }[name]()
    assert np.isclose(loss.information(y, raw).mean(), loss.curvature(y, raw).mean(), rtol=0.01)
    if not loss.has_dispersion:  # the variance of the slope is the information
        slope = loss.derivatives(y, raw)[1]
        assert np.isclose(slope.var(), loss.information(y, raw).mean(), rtol=0.02)


def test_huber_tells_as_much_as_rows_are_near():
    y, raw = np.array([0.0, 0.0, 0.0, 9.0]), np.zeros(4)
    assert Huber(delta=1.0).information(y, raw).tolist() == [0.75] * 4
    assert Huber(delta=1.0).curvature(y, raw).tolist() == [1.0, 1.0, 1.0, 0.0]

"""Every display draws every kind of model, on its own axes or on given ones."""

import copy
from dataclasses import replace

import bare
import needed
import numpy as np
import pandas as pd
import pytest
from problems import CURVED, FORMS, KINDS, fitted, later

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, explain, inference, stability
from glassleaf.explanations.scores import net_benefit
from glassleaf.show.plots import regions

matplotlib = needed.module("matplotlib")
matplotlib.use("agg")
from matplotlib import pyplot as plt  # noqa: E402

from glassleaf.show.plots import (  # noqa: E402
    CalibrationDisplay,
    CoefficientDisplay,
    CurveDisplay,
    DecisionCurveDisplay,
    DependenceDisplay,
    GainDisplay,
    LearningCurveDisplay,
    LiftDisplay,
    PathDisplay,
    RegionDisplay,
    RowDisplay,
    StabilityDisplay,
    TreeDisplay,
)
from glassleaf.show.plots.style import INK, NEGATIVE, NEUTRAL, POSITIVE  # noqa: E402

DISPLAYS = {
    "tree": lambda model, X, y, ax: TreeDisplay.from_estimator(model, ax=ax),
    "gain": lambda model, X, y, ax: GainDisplay.from_estimator(model, ax=ax),
    "row": lambda model, X, y, ax: RowDisplay.from_estimator(model, later(X), row=3, ax=ax),
    "row, background": lambda model, X, y, ax: RowDisplay.from_estimator(
        model, later(X), row=3, background=X, ax=ax
    ),
    "regions": lambda model, X, y, ax: RegionDisplay.from_estimator(
        model, X, ("a", "d"), y=y, ax=ax
    ),
    "dependence": lambda model, X, y, ax: DependenceDisplay.from_estimator(
        model, X, "a", max_rows=50, ax=ax
    ),
    "dependence on a category": lambda model, X, y, ax: DependenceDisplay.from_estimator(
        model, X, "t", max_rows=50, ax=ax
    ),
    "calibration": lambda model, X, y, ax: CalibrationDisplay.from_estimator(model, X, y, ax=ax),
    "coefficients": lambda model, X, y, ax: CoefficientDisplay.from_estimator(
        model, later(X), y, ax=ax
    ),
    "stability": lambda model, X, y, ax: StabilityDisplay.from_stability(
        stability(model, X, y, n=3), ax=ax
    ),
    "lift": lambda model, X, y, ax: LiftDisplay.from_estimator(model, X, y, ax=ax),
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("kind", ["squared_error", "poisson", "binary", "multiclass"])
def test_every_display_draws_every_kind(kind, display):
    model, X, y = fitted(kind, leaf_transform="winsor", clamp=True)
    drawn = DISPLAYS[display](model, X, y, None)
    assert drawn.figure_ is drawn.ax_.figure
    drawn.figure_.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_given_axes_are_used(display):
    model, X, y = fitted("binary")
    figure, axes = plt.subplots(1, 2)
    drawn = DISPLAYS[display](model, X, y, axes[1])
    assert drawn.figure_ is figure
    figure.canvas.draw()


def drawn_texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("form", FORMS)
def test_every_form(form):
    """What is drawn is what the model says, whatever its columns are made to be."""
    model, X, y = fitted("squared_error", **FORMS[form])
    drawn = {
        display: DISPLAYS[display](model, X, y, None)
        for display in ("tree", "gain", "row", "regions", "dependence")
    }
    leaves = [text for text in drawn_texts(drawn["tree"].ax_) if text.startswith("leaf ")]
    assert len(leaves) == model.get_n_leaves()
    titles = [panel.get_title() for panel in drawn["gain"].axes_]
    assert len(titles) == len(explain(model).splits[0].split.candidates) and all(titles)
    last = drawn["row"].ax_.patches[-1]
    score = model.predict(later(X).iloc[[3]])[0]
    assert last.get_x() + last.get_width() == pytest.approx(score)
    x, mean = drawn["dependence"].ax_.lines[-2].get_data()
    rows = X.iloc[np.linspace(0, len(X) - 1, 50).astype(int)]
    for k in (0, len(x) // 3, len(x) - 1):
        assert mean[k] == pytest.approx(model.predict(rows.assign(a=x[k])).mean())
    regions = drawn["regions"].ax_
    assert (regions.get_xlabel(), regions.get_ylabel()) == ("a", "d")


def test_tree_names_splits_leaves_and_features():
    model, _, _ = fitted("squared_error")
    display = TreeDisplay.from_estimator(model, max_features=3)
    explanation = explain(model)
    texts = drawn_texts(display.ax_)
    for leaf in explanation.leaves:
        assert f"leaf {leaf.leaf}" in texts
    for node in explanation.splits:
        assert node.split.condition.text in texts
    assert set(list(explanation.importance)[:3]) <= set(texts)


def test_bars_of_the_tree_are_coefficient_times_spread(rng):
    X = rng.normal(size=(500, 2))
    model = bare.regressor(max_depth=0).fit(X, 2.0 * X[:, 0] - X[:, 1])
    display = TreeDisplay.from_estimator(model)
    widths = [patch.get_width() for patch in display.ax_.patches]
    names = list(explain(model).importance)
    expected = [2.0 * X[:, 0].std() if name == "x0" else -X[:, 1].std() for name in names]
    assert widths[0] / widths[1] == pytest.approx(expected[0] / expected[1], rel=0.01)


@pytest.mark.parametrize(("max_leaf_nodes", "max_features"), [(3, 6), (16, 6), (2, 1)])
def test_no_text_of_the_tree_covers_another(rng, max_leaf_nodes, max_features):
    X = pd.DataFrame(
        rng.normal(size=(3000, 8)), columns=[f"a rather long name {k}" for k in "abcdefgh"]
    )
    y = sum(np.abs(X.iloc[:, k]) * X.iloc[:, 7 - k] for k in range(4))
    model = bare.regressor(max_leaf_nodes=max_leaf_nodes, max_depth=None).fit(X, y)
    assert model.get_n_leaves() == max_leaf_nodes
    assert_no_text_covers_another(TreeDisplay.from_estimator(model, max_features=max_features))


def assert_no_text_covers_another(display):
    display.figure_.canvas.draw()
    texts = [text for text in display.ax_.texts if text.get_rotation() == 0]
    boxes = [text.get_window_extent() for text in texts]
    for i, first in enumerate(boxes):
        for j in range(i):
            overlap = first.intersection(first, boxes[j])
            assert overlap is None or overlap.width * overlap.height < 4, (
                texts[i].get_text(), texts[j].get_text(),
            )  # fmt: skip


@pytest.mark.parametrize("n_classes", [3, 7])
def test_leaves_of_several_classes_have_two_lines_of_shares(rng, n_classes):
    X = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["distance_to_roads", "distance_to_fires"])
    score = X["distance_to_roads"] * np.sign(X["distance_to_fires"]) + rng.normal(size=2000)
    y = "kind " + pd.qcut(score, n_classes, labels=False).astype(str)
    display = TreeDisplay.from_estimator(bare.classifier(max_depth=1).fit(X, y))
    assert_no_text_covers_another(display)
    texts = [text.get_text() for text in display.ax_.texts]
    assert any("on the scores of all classes" in text and "blue" not in text for text in texts)
    shares = [text for text in texts if "% kind" in text]
    assert len(shares) == 2
    for text in shares:
        assert text.count("\n") == 1 and text.endswith("…") == (n_classes == 7)
    assert any("_fires ≤" in text for text in texts)  # the end tells it from the other name


def test_the_legend_names_the_class_whose_score_is_shown(rng):
    X = rng.normal(size=(600, 2))
    model = bare.classifier(max_depth=0).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    display = TreeDisplay.from_estimator(model, output=1)
    assert any("on the score of 1 " in text.get_text() for text in display.ax_.texts)


def test_waterfall_ends_at_the_score():
    model, X, _ = fitted("binary")
    display = RowDisplay.from_estimator(model, X, row=5, background=X, max_features=2)
    bars = display.ax_.patches
    assert len(bars) == 3  # two features and the rest
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(display.row.raw)
    assert bars[0].get_x() == pytest.approx(display.row.reference)


def test_a_limit_has_a_bar_of_its_own():
    model, X, _ = fitted("squared_error")
    row = explain(model, X.iloc[[5]])[0]
    limited = replace(row, raw=row.raw - 0.5, limited=-0.5)
    display = RowDisplay(limited).plot()
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert names[-2] == f"limited to {row.raw - 0.5:.4g}"
    bar = display.ax_.patches[-1]
    assert bar.get_width() == -0.5
    assert bar.get_x() + bar.get_width() == pytest.approx(limited.raw)
    shown = RowDisplay(row).plot().ax_.get_yticklabels()
    assert not any("limited" in tick.get_text() for tick in shown)


def test_gain_curve_peaks_at_the_split():
    model, _, _ = fitted("squared_error", split_features=["a", "d"])
    display = GainDisplay.from_estimator(model)
    split = explain(model).splits[0].split
    x, y = display.ax_.lines[0].get_data()
    assert x[np.argmax(y)] == pytest.approx(split.condition.high)
    with pytest.raises(ValueError, match="has no split; inner nodes are"):
        GainDisplay.from_estimator(model, node=99)


def test_dependence_has_the_kinks_of_the_tree():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(4000, 2))
    model = bare.regressor(max_depth=1).fit(X, np.where(X[:, 0] > 0, 3 * X[:, 0], -X[:, 0]))
    found = DependenceDisplay.from_estimator(model, X, 0, max_rows=100).dependence
    assert found.kinks == (model.tree_.threshold[0],)
    for value, mean in list(zip(found.values, found.mean, strict=True))[::20]:
        changed = X[np.linspace(0, 3999, 100).astype(int)].copy()
        changed[:, 0] = value
        assert mean == pytest.approx(model.predict(changed).mean())


@pytest.mark.parametrize("form", CURVED)
@pytest.mark.parametrize("kind", KINDS)
def test_curves_of_every_kind(kind, form):
    """A panel per feature that bends, in it a line per leaf, on new and on given axes."""
    model, _, _ = fitted(kind, **FORMS[form])
    bent, figure = explain(model).bent, plt.figure()
    for ax in (None, figure.subplots(1, 2)[1]):
        display = CurveDisplay.from_estimator(model, ax=ax)
        assert ax is None or display.figure_ is figure
        assert {panel.get_xlabel() for panel in display.axes_} == set(bent)
        for panel in display.axes_:
            named = [line.get_label() for line in panel.lines if "leaf" in line.get_label()]
            assert named == [f"leaf {k + 1}" for k in range(model.get_n_leaves())]
        display.figure_.canvas.draw()


def test_lines_of_the_curves_have_the_kinks(rng):
    X = rng.uniform(-1, 1, size=(3000, 2))
    model = bare.regressor(max_depth=0, curves=True).fit(X, np.abs(X[:, 0]) + X[:, 1])
    display = CurveDisplay.from_estimator(model)
    x, y = display.ax_.lines[1].get_data()
    parts = [row.contributions["x0"] for row in explain(model, np.column_stack([x, x]))]
    np.testing.assert_allclose(y, parts, atol=1e-9)
    dots = display.ax_.lines[2].get_xdata()
    assert set(dots) == {term.at for term in explain(model).terms if term.feature == "x0"} - {None}
    found = DependenceDisplay.from_estimator(model, X, 0, max_rows=20).dependence
    assert {z for z in dots if abs(z) < 0.98} <= set(found.values)


@pytest.mark.parametrize("n_leaves", [2, 40])
def test_many_leaves_and_few_in_the_legend(rng, n_leaves):
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = np.abs(X[:, 0]) + np.sin(20 * X[:, 1])
    model = bare.regressor(max_leaf_nodes=n_leaves, max_depth=None, curves=True).fit(X, y)
    display = CurveDisplay.from_estimator(model)
    display.figure_.canvas.draw()
    (legend,) = [ax.get_legend() for ax in display.figure_.axes if ax.get_legend()]
    assert len(legend.get_texts()) == model.get_n_leaves() == n_leaves


def test_no_bends_to_draw():
    model, _, _ = fitted("squared_error")
    with pytest.raises(ValueError, match="No column of this model bends"):
        CurveDisplay.from_estimator(model)


def test_bars_of_a_tree_with_bends_have_a_color_only_where_they_have_a_direction(rng):
    X = rng.uniform(-1, 1, size=(3000, 3))
    y = np.abs(X[:, 0]) + np.maximum(X[:, 1], 0) - 0.5 * X[:, 2]
    model = bare.regressor(max_depth=0, curves=True).fit(X, y)
    explanation = explain(model)
    assert set(explanation.bent) == {"x0", "x1"}
    bars = TreeDisplay.from_estimator(model).ax_.patches
    colors = {
        name: matplotlib.colors.to_hex(bar.get_facecolor())
        for name, bar in zip(explanation.importance, bars, strict=True)
    }
    assert colors == {"x0": NEUTRAL, "x1": POSITIVE, "x2": NEGATIVE}
    widths = np.array([abs(bar.get_width()) for bar in bars])
    strength = np.array([explanation.leaves[0].strength[name] for name in explanation.importance])
    np.testing.assert_allclose(widths / widths[0], strength / strength[0])


def test_leaf_scores_are_means_over_the_rows(rng):
    model, X, y = fitted("binary")
    weight = rng.random(500)
    scores = LiftDisplay.from_estimator(model, X, y, sample_weight=weight).scores
    leaves, good = model.apply(X), y == "good"
    ordered = [leaf.id for leaf in explain(model).leaves]
    for leaf in scores.leaves:
        here = leaves == ordered[leaf.leaf - 1]
        assert leaf.target == pytest.approx(np.average(good[here], weights=weight[here]))
        predicted = model.predict_proba(X)[here, 1]
        assert leaf.prediction == pytest.approx(np.average(predicted, weights=weight[here]))
        assert leaf.lift == pytest.approx(leaf.target / np.average(good, weights=weight))


def test_regions_refuse_categories():
    model, X, _ = fitted("squared_error")
    with pytest.raises(ValueError, match="regions need two numbers"):
        RegionDisplay.from_estimator(model, X, ("a", "t"))
    with pytest.raises(ValueError, match="not a column of X"):
        RegionDisplay.from_estimator(model, X, ("a", "nothing"))


def test_formulas_in_names_are_not_drawn(rng):
    X = pd.DataFrame({r"$\frac{1}{$": rng.normal(size=300), "$$": rng.choice(["$a$", "$"], 300)})
    model = bare.regressor(max_depth=2).fit(X, np.abs(X.iloc[:, 0]))
    for drawn in (
        TreeDisplay.from_estimator(model),
        GainDisplay.from_estimator(model),
        RowDisplay.from_estimator(model, X),
        DependenceDisplay.from_estimator(model, X, 1),
        LiftDisplay.from_estimator(model, X, np.abs(X.iloc[:, 0])),
    ):
        drawn.figure_.canvas.draw()
        texts = [text.get_text() for text in drawn.figure_.findobj(matplotlib.text.Text)]
        assert any(r"\$" in text for text in texts)
        assert not any("$" in text.replace(r"\$", "") for text in texts)


@pytest.mark.parametrize("kind, output", [("binary", 0), ("binary", -2), ("multiclass", 1)])
def test_points_of_the_class_shown_are_filled(kind, output):
    model, X, y = fitted(kind)
    drawn = RegionDisplay.from_estimator(
        model, X, ("a", "d"), y=y, output=output, max_points=len(X)
    )
    label = model.classes_[output]
    sizes = {
        (dots.get_label(), matplotlib.colors.to_hex(dots.get_facecolor()[0])): len(
            dots.get_offsets()
        )
        for dots in drawn.ax_.collections
        if isinstance(dots, matplotlib.collections.PathCollection)
    }
    n = int((np.asarray(y) == label).sum())
    assert sizes == {(f"rows that are {label}", INK): n, ("other rows", "#ffffff"): len(X) - n}


def test_shares_have_no_bars_beyond_0_and_1(rng):
    X = rng.normal(size=(400, 1))
    model = ModelTreeClassifier(max_depth=0).fit(X, X[:, 0] > 0)
    rows = X[np.argsort(X[:, 0])[-5:]]
    drawn = CalibrationDisplay.from_estimator(model, rows, [True, True, True, True, False])
    (bar,) = next(
        lines.get_segments()
        for lines in drawn.ax_.collections
        if isinstance(lines, matplotlib.collections.LineCollection)
    )
    assert bar[:, 1].max() == pytest.approx(1.0) and bar[:, 1].min() > 0


def test_a_tree_says_how_many_features_it_leaves_out():
    model, _, _ = fitted("binary")
    n = model.n_features_in_
    some, all_of_them = (
        [text.get_text() for text in TreeDisplay.from_estimator(model, max_features=k).ax_.texts]
        for k in (2, n)
    )
    assert any(f"; 2 of {n} features" in text for text in some)
    assert not any(" features" in text for text in all_of_them)


def test_labels_of_thin_leaves_stand_apart_and_inside():
    leaf = np.repeat([[1] * 4 + [2] * 6 + [3] * 5 + [4] * 185], 200, axis=0)
    taken = []
    for number in range(1, 5):
        row, column = regions._free_place(leaf == number, taken)
        assert leaf[row, column] == number
        for other in taken:
            assert (np.abs(np.subtract((row, column), other)) >= regions._LABEL).any()
        taken.append((row, column))


# --- the path ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["squared_error", "poisson", "binary", "multiclass"])
def test_a_path_is_drawn_by_its_validated_losses(kind):
    model, X, y = fitted(kind, max_numbers=12)
    drawn = PathDisplay.from_estimator(model)
    steps = model.path_
    x, values = drawn.ax_.lines[0].get_data()
    assert list(x) == [step.numbers for step in steps]
    assert list(values) == [step.validated for step in steps]
    chosen = drawn.ax_.lines[-1].get_data()
    assert chosen == ([model.complexity_.total], [steps[drawn.chosen].validated])
    assert PathDisplay.from_estimator(model.at(numbers=6)).chosen < drawn.chosen
    assert drawn.lines["longest model"] == steps[-1].validated
    drawn.figure_.canvas.draw()


@pytest.mark.parametrize("kind", ["squared_error", "binary", "poisson"])
def test_a_path_is_drawn_by_the_scores_of_rows(kind):
    model, X, y = fitted(kind, max_numbers=12)
    figure, axes = plt.subplots(1, 2)
    drawn = PathDisplay.from_estimator(model, X, y, axes[1])
    assert drawn.figure_ is figure and drawn.ax_ is axes[1]
    for step, value in zip(drawn.steps, drawn.values, strict=True):
        assert value == model.at(numbers=step.numbers).score(X, y)
    whole = copy.copy(model)
    whole.model_ = replace(model.model_, tree=model.model_.path.whole)
    assert drawn.lines["whole tree"] == whole.score(X, y)
    assert 0 < drawn.lines["linear, all columns"] < 1
    figure.canvas.draw()


def test_the_decision_curve_is_that_of_the_scores(rng):
    model, X, y = fitted("binary")
    w = np.where(np.arange(len(y)) % 3, rng.gamma(1.0, size=len(y)), 0.0)
    drawn = DecisionCurveDisplay.from_estimator(model, X, y, sample_weight=w, challenger=model)
    p, is_class = model.predict_proba(X)[:, 1], np.asarray(y) == model.classes_[1]
    for point in drawn.curve[::7]:
        expected = net_benefit(is_class, p, w, point.threshold)
        assert point.model == pytest.approx(expected)
        assert point.low <= point.model <= point.high
        share, cost = np.average(is_class, weights=w), point.threshold / (1 - point.threshold)
        assert point.everyone == pytest.approx(share - (1 - share) * cost)
    assert drawn.challenger == drawn.curve
    drawn.figure_.canvas.draw()
    with pytest.raises(ValueError, match="needs classes"):
        DecisionCurveDisplay.from_estimator(*fitted("squared_error"))


def test_a_learning_curve_is_drawn_by_its_points():
    model, X, y = fitted("squared_error")
    drawn = LearningCurveDisplay.from_estimator(model, X, y, n=2, shares=(0.5, 1.0))
    x, test = drawn.ax_.lines[0].get_data()
    assert list(x) == [point.rows for point in drawn.curve.points]
    assert list(test) == [point.test for point in drawn.curve.points]
    drawn.figure_.canvas.draw()


def test_what_a_path_needs(rng):
    model, X, y = fitted("binary")
    with pytest.raises(ValueError, match="max_numbers=None"):
        PathDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="both X and y"):
        PathDisplay.from_estimator(model, X)


def test_coefficients_are_those_of_the_table_in_units_that_compare(rng):
    X = pd.DataFrame({"a": rng.normal(size=600), "b": 1000 * rng.normal(size=600)})
    y = np.where(X["a"] > 0, 1.0, 3.0) * X["b"] / 1000 + rng.normal(size=600)
    model = ModelTreeRegressor(max_depth=1, honest=0.5).fit(X, y)
    table = inference(model, X, y, coverage=0.9)
    display = CoefficientDisplay.from_inference(table)
    shown = table[table["term"] != "constant"]
    points = [line.get_xdata() for line in display.ax_.lines if line.get_marker() == "o"]
    units = np.array([table.attrs["unit"][k] for k in shown.index])
    np.testing.assert_allclose(np.ravel(points), shown["estimate"] * units)
    assert units.min() > 500
    labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert labels == ["all rows", "b", shown["where"].iloc[-1], "b"]
    assert "90%" in display.ax_.get_xlabel()
    assert len(CoefficientDisplay.from_inference(table[:2]).ax_.get_yticks()) == 2
    with pytest.raises(TypeError, match="a table that glassleaf.inference returned"):
        CoefficientDisplay.from_inference(X)


# --- stability -----------------------------------------------------------------------------------


def test_stability_shows_shares_thresholds_and_moves(rng):
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "$c$"])
    y = np.where(X["a"] > 0, X["b"], -X["b"]) + rng.normal(size=400)
    found = stability(ModelTreeRegressor(max_depth=1).fit(X, y), X, y, n=20)
    drawn = StabilityDisplay.from_stability(found)
    columns, thresholds, moves = drawn.axes_
    assert [text.get_text() for text in columns.get_yticklabels()][-2:] == ["b", "a"]
    assert sum(patch.get_height() for patch in thresholds.patches) == len(found.thresholds)
    assert sum(patch.get_height() for patch in moves.patches) == 20
    assert "first split: a in 100%" in thresholds.get_title()
    linear = stability(ModelTreeRegressor(max_depth=0).fit(X, y), X, y, n=3)
    roots = StabilityDisplay.from_stability(linear).axes_[1]
    assert [text.get_text() for text in roots.get_yticklabels()] == ["no split"]

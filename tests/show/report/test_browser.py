"""The report in a real browser: it scores as Python does, can be walked by keys, runs no name.

Needs Playwright and a Chromium; ``.ci/run`` installs both.
"""

import copy
import json
import shutil
from dataclasses import replace

import needed
import numpy as np
import pytest
import zoo
from problems import FORMS, fitted, later
from reports import HOSTILE, hostile_model, labeled_rows, report_of

from glassleaf import explain, inference, learning_curve, optimism, stability

ROWS = 200
TYPED = 12  # of these, key by key


@pytest.fixture(scope="module")
def browser():
    sync_playwright = needed.module("playwright.sync_api").sync_playwright
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        needed.missing("Chromium", "apt-get install chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program)
        yield found
        found.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a report; at the end nothing was requested, and nothing went wrong, in any page."""
    pages, troubles, requests = [], [], []

    def open_page(report, **options):
        path = tmp_path / f"report{len(pages)}.html"
        report.write(path)
        page = browser.new_page(**options)
        page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        pages.append(path.as_uri())
        return page

    yield open_page
    for context in browser.contexts:
        context.close()
    assert troubles == []
    assert requests == pages


def exact(page):
    return json.loads(page.locator("#prediction").get_attribute("data-exact"))


def as_entered(features, row):
    """A row as it stands in the form: text of numbers, places of options."""
    out = []
    for feature, value in zip(features, row, strict=True):
        if feature.categories is None:
            out.append("" if value is None else repr(float(value)))
        else:  # missing and "other" are the last options
            known = list(feature.categories)
            extra = len(known) + (value is not None)
            out.append(known.index(value) if value in known else extra)
    return out


def type_in(page, cells):
    """Fill the form through the keyboard, as a person would."""
    for j, cell in enumerate(cells):
        place = page.locator(f"#input-{j}")
        if isinstance(cell, str):
            place.fill(cell)
        else:  # by place: a value of Playwright's also matches the labels of other options
            place.select_option(index=cell)
    return exact(page)


# The same through the events that typing ends in, for many rows at a time.
ENTER_ALL = """rows => rows.map(cells => {
    cells.forEach((cell, j) => {
        const place = document.getElementById("input-" + j);
        if (typeof cell === "string") place.value = cell;
        else place.selectedIndex = cell;
        place.dispatchEvent(new Event(typeof cell === "string" ? "input" : "change"));
    });
    return JSON.parse(document.getElementById("prediction").dataset.exact);
})"""


def show_all_fields(page):
    for button in page.locator("#what-if .disclose[aria-expanded=false]").all():
        button.click()


# --- the what-if scorer --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        "huber, winsor, clamp",
        "binary, rank, clamp",
        "multiclass, winsor, clamp",
        "poisson, rank",
        "texts, the first is positive",
        "tweedie, exposure, offset",
        "quantile, limits, offset beside X",
    ],
)
def test_rows_typed_into_the_page_get_python_s_predictions(opened, kind):
    case = zoo.case(kind)
    page = opened(report_of(kind)[0])
    show_all_fields(page)
    features, rows = explain(case.model).features, explain(case.model, case.table[:ROWS])
    cells = [as_entered(features, row) for row in case.rows[:ROWS]]
    found = []
    for k in range(TYPED):
        found.append(type_in(page, cells[k]))
        check_contributions(page, rows[k], case.model.tree_)
    found += page.evaluate(ENTER_ALL, cells[TYPED:])
    compare([one["prediction"] for one in found], case.expected[:ROWS])
    compare([one["raw"] for one in found], case.raw[:ROWS])
    assert [one["leaf"] for one in found] == case.model.apply(case.table[:ROWS]).tolist()


def test_the_page_is_about_the_positive_class(opened):
    case = zoo.case("texts, the first is positive")
    bad = case.model.classes_[0]
    page = opened(report_of("texts, the first is positive")[0])
    assert f"P({bad})" in page.locator("#prediction").inner_text()
    shown = page.locator("#prediction .card-value").inner_text()
    assert float(shown.rstrip("%")) == pytest.approx(100 * exact(page)["prediction"][0], abs=0.06)
    facts = page.locator(".leaf-panel:not([hidden])").inner_text()
    assert f"share of {bad}, training" in facts
    assert f"Score of {bad} = the sum of" in facts
    assert f"Rows of {bad} that are found" in page.locator("#scores").inner_text()
    assert f"What each feature adds to the score of {bad}" in page.locator("#what-if").inner_text()


def compare(found, expected):
    found = np.array(found).reshape(ROWS, -1)
    np.testing.assert_allclose(found, expected.reshape(ROWS, -1), rtol=1e-9, atol=1e-13)


def check_contributions(page, row, tree):
    """The largest contribution stands first, as ``explain`` has it; offsets stand last."""
    output = 0 if isinstance(row.raw, float) else int(np.argmax(row.prediction))
    parts = {name: np.atleast_1d(part)[output] for name, part in row.contributions.items()}
    known = [tree.columns[offset.column].name for offset in tree.offsets]
    lines = page.locator(".contributions tr").all()
    for name, line in zip(known, lines[-1 - len(known) : -1], strict=True):
        assert line.locator(".name").get_attribute("title") == name
        shown = float(line.locator(".number").inner_text().replace("−", "-"))
        digit = 0.1 * max(map(abs, [*parts.values(), row.raw]))  # all lines have the same decimals
        assert shown == pytest.approx(parts.pop(name), rel=0.01, abs=max(0.01, digit))
    largest = max(parts, key=lambda name: abs(parts[name]))
    line = page.locator(".contributions tr").nth(1)
    assert line.locator(".name").get_attribute("title") == largest
    shown = float(line.locator(".number").inner_text().replace("−", "-"))
    assert shown == pytest.approx(parts[largest], rel=0.01, abs=0.01)
    assert page.locator(".path li").count() == len(row.path) + 1


def test_without_an_exposure_there_is_no_prediction(opened):
    case = zoo.case("poisson, limits, exposure")
    page = opened(report_of("poisson, limits, exposure")[0])
    before, column = exact(page), case.model.tree_.offsets[0].column
    for wrong in ("", "0", "-1"):
        page.locator(f"#input-{column}").fill(wrong)
        assert "must be a number > 0." in page.locator("#what-if-result").inner_text()
    page.locator("#example").select_option(value="-1")
    assert exact(page) == before


def test_what_if_starts_typical_and_takes_examples_and_mistakes(opened):
    report, _ = report_of("binary")
    page = opened(report)
    show_all_fields(page)
    case = zoo.case("binary")
    example = report.contents.examples[7]
    page.locator("#example").select_option(value="7")
    assert exact(page)["prediction"] == pytest.approx(list(example.prediction), rel=1e-9)
    number = next(f.column for f in explain(case.model).features if f.categories is None)
    page.locator(f"#input-{number}").fill("1e6")
    assert "outside" in page.locator(f"#input-{number}-hint").inner_text()
    page.locator(f"#input-{number}").fill("")
    page.locator(f"#input-{number}").press_sequentially("1e")  # not a number yet
    assert "must be a finite number" in page.locator("#what-if-result").inner_text()
    page.locator("#example").select_option(value="-1")
    assert exact(page)["prediction"]


def test_an_edited_row_is_no_longer_called_by_the_row_it_came_from(opened):
    report, _ = report_of("binary")
    page = opened(report)
    shown = "document.getElementById('example').selectedOptions[0].textContent"
    number = next(f.column for f in report.contents.model.features if f.categories is None)
    assert page.evaluate(shown).startswith("a typical row")
    page.locator(f"#input-{number}").fill("0.5")
    assert page.evaluate(shown) == "the typical row, edited"
    page.locator("#example").select_option(value="7")
    row = report.contents.examples[7].row
    assert page.evaluate(shown).startswith(f"test row {row}: predicted")
    page.locator(f"#input-{number}").fill("0.5")
    page.locator(f"#input-{number}").fill("0.25")
    assert page.evaluate(shown) == f"test row {row}, edited"
    page.locator("#example").select_option(value="7")  # takes it back
    expected = list(report.contents.examples[7].prediction)
    assert exact(page)["prediction"] == pytest.approx(expected, rel=1e-9)
    assert page.locator("#example option[value=edited]").count() == 0


def test_class_to_explain_can_be_chosen(opened):
    page = opened(report_of("multiclass")[0])
    heading = page.locator("#what-if-result h4").last
    page.locator("#class-choice").select_option(label="größer")
    assert "größer" in heading.inner_text()


# --- the tree ------------------------------------------------------------------------------------


def test_click_through_the_leaves(opened):
    report, _ = report_of("binary")
    page = opened(report)
    for leaf in report.contents.model.leaves:
        page.locator(f".node[data-node='{leaf.id}']").click()
        panel = page.locator(".leaf-panel:visible")
        assert panel.count() == 1
        text = panel.inner_text()
        assert f"Leaf {leaf.leaf}" in text
        assert f"{leaf.rows:,}" in text
        assert panel.locator(".formula .bar").count() > 0
        assert panel.locator("svg.chart polygon").count() == 2
        rule = panel.locator(".rule").inner_text()
        assert all(condition.text.splitlines()[0] in rule for condition in leaf.rule)
        chosen = page.locator(".node[aria-selected=true]")
        assert chosen.get_attribute("data-node") == str(leaf.id)


def test_every_bent_feature_is_drawn_once(opened):
    """A line per leaf, of which the one that is chosen stands out; and small ones in formulas."""
    model, X, y = fitted("squared_error", **FORMS["curves, rank, clamped"])
    report = model.report(X, y)
    page = opened(report)
    explanation = explain(model)
    figures = page.locator("#bends figure")
    assert figures.count() == len(explanation.bent) > 0
    assert figures.nth(0).locator("figcaption").inner_text() == explanation.bent[0]
    for k in range(len(explanation.bent)):
        assert figures.nth(k).locator(".leaf-line").count() == len(explanation.leaves)
        shares = report.contents.densities[k].shares
        assert figures.nth(k).locator("rect.rows").count() == sum(share > 0 for share in shares)
    for leaf in explanation.leaves:
        page.locator(f'.node[data-node="{leaf.id}"]').click()
        chosen = page.locator("#bends .leaf-line.chosen")
        assert {line.get_attribute("data-leaf") for line in chosen.all()} == {str(leaf.leaf)}
        assert chosen.count() == len(explanation.bent)
        bends = [t for t, coef in zip(explanation.terms, leaf.coef[0], strict=True)
                 if t.kind == "hinge" and coef]  # fmt: skip
        assert page.locator(".leaf-panel:visible .sparkline").count() == len(
            {term.feature for term in bends}
        )
    assert page.locator('nav a[href="#bends"]').count() == 1
    plain, X, y = fitted("squared_error")
    assert opened(plain.report(X, y)).locator("#bends").count() == 0


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_coefficients_are_shown_if_they_are_given(opened, kind):
    model, X, y = fitted(kind)
    table = inference(model, later(X), y)
    page = opened(model.report(X, y, inference=table))
    assert page.locator('nav a[href="#estimates"]').count() == 1
    assert page.locator("#estimates tbody tr").count() == len(table)
    drawn = table[(table["term"] != "constant") & table["lower"].notna()]
    assert page.locator("#estimates .interval .point").count() == len(drawn)
    said = [*table.attrs["differences"], *table.attrs["notes"]]
    assert len(table.attrs["differences"]) > 0
    assert page.locator("#estimates li").all_inner_texts() == said
    assert opened(model.report(X, y)).locator("#estimates").count() == 0


def test_a_limit_of_the_score_is_a_part_of_its_own(opened):
    model, X, y = fitted("squared_error")
    ends = {"score_high": np.full(model.tree_.node_count, float(np.median(model.predict(X))))}
    limited = copy.copy(model)
    limited.model_ = replace(model.model_, tree=replace(model.tree_, **ends))
    page = opened(limited.report(X, y))
    assert "The score is at most " in page.locator("#tree").inner_text()
    shown = page.locator("#what-if-result .contributions")
    for example, is_limited in (("0", False), ("49", True)):
        page.locator("#example").select_option(example)
        assert ("limited to" in shown.inner_text()) == is_limited


def test_the_tree_can_be_walked_by_keys(opened):
    report, _ = report_of("binary")
    page = opened(report)
    page.locator(".node[data-node='0']").focus()
    focused = "document.activeElement.dataset.node"
    root = report.contents.model.nodes[0].split
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == str(root.left)
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == "0"
    page.keyboard.press("End")
    last = report.contents.model.leaves[-1]
    assert page.evaluate(focused) == str(last.id)
    for key in ("Enter", " "):
        page.keyboard.press("Home")
        page.keyboard.press("End")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowDown")
        page.keyboard.press(key)
        assert page.locator(".leaf-panel:visible h3").inner_text() == f"Leaf {last.leaf}"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_tab_reaches_everything_that_can_be_used(opened):
    page = opened(report_of("squared_error")[0])
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className.split(' ')[0] || "
                                  "document.activeElement.tagName"))  # fmt: skip
    assert {"A", "theme", "node", "SELECT", "INPUT", "disclose", "link", "scroll"} <= reached


def test_gains_of_sets_of_categories_are_numbered(opened):
    report, _ = report_of("binary, splits on categories")
    page = opened(report)
    figure = page.locator("#gains figure").first
    n = len(report.contents.model.nodes[0].split.candidates[0].gains)
    assert figure.locator("rect.block").count() == n
    assert figure.locator("text.tick.middle").first.text_content() == "1"
    assert "sets of categories, the best first" in figure.locator(".label").text_content()


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_confusion_and_roc_are_drawn(opened, kind):
    report, _ = report_of(kind)
    page = opened(report)
    found = report.contents.classes
    cells = page.locator("#scores .confusion .cell strong").all_inner_texts()
    assert cells == [f"{count:,.0f}" for row in found.confusion for count in row]
    curve = page.locator("#scores polyline.curve")
    assert curve.count() == (1 if kind == "binary" else 0)
    if kind == "binary":
        places = curve.get_attribute("points").split(" ")
        assert len(places) == len(found.roc)
    shown = page.locator("#scores table").last
    assert shown.locator("tbody tr").count() == len(found.classes)
    assert ("AUC" in shown.inner_text()) == (kind == "multiclass")


def test_numbers_have_no_confusion(opened):
    page = opened(report_of("squared_error")[0])
    assert page.locator("#scores .confusion").count() == 0
    assert page.locator("#scores figure").count() == 1  # the calibration


# --- hostile text, paper, dark, small ------------------------------------------------------------


def test_hostile_names_run_nothing_and_break_nothing(opened):
    model, X, y = hostile_model()
    page = opened(model.report(X, y, title=HOSTILE[0]), viewport={"width": 1200, "height": 900})
    show_all_fields(page)
    first = X.iloc[0].where(X.iloc[0].notna(), None).tolist()
    found = type_in(page, as_entered(explain(model).features, first))["prediction"]
    np.testing.assert_allclose(found, model.predict_proba(X[:1])[0], rtol=1e-9)
    for node in page.locator(".node.leaf").all():
        node.click()
    assert page.evaluate("window.broken") is None
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.locator("h1").inner_text().startswith("<script>")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    titles = page.locator("#features .name").evaluate_all("all => all.map(e => e.title)")
    assert HOSTILE[4] in titles  # whole, though its cell is short


@pytest.mark.parametrize("kind", ["squared_error", "multiclass", "no split", "no terms"])
def test_every_kind_fits_a_phone(opened, kind):
    page = opened(report_of(kind)[0], viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_formulas_are_not_cut_on_a_phone(opened, kind):
    page = opened(report_of(kind)[0], viewport={"width": 400, "height": 800})
    formulas = page.locator(".leaf-panel:visible .formula:visible").all()
    assert formulas
    for formula in formulas:
        assert formula.evaluate("e => e.scrollWidth <= e.clientWidth")


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_dark_by_the_system_and_by_the_button(opened):
    report, _ = report_of("binary")
    light, dark = opened(report), opened(report, color_scheme="dark")
    before = background(light)
    assert before != background(dark)
    light.locator(".theme").click()
    assert background(light) == background(dark)
    dark.locator(".theme").click()
    assert background(dark) == before


def test_paper_is_light_and_hides_nothing(opened):
    report, _ = report_of("binary")
    page = opened(report, color_scheme="dark")
    page.emulate_media(media="print")
    assert background(page) == "rgb(255, 255, 255)"
    assert page.locator(".leaf-panel:visible").count() == len(report.contents.model.leaves)
    assert page.locator("#gains .chart:visible").count() == page.locator("#gains .chart").count()
    assert page.pdf(format="A4").startswith(b"%PDF")


# --- the model, and those of other lengths -------------------------------------------------------


@pytest.mark.parametrize("kind", ["squared_error", "binary", "multiclass"])
def test_the_slider_leads_through_models_of_other_lengths(opened, kind):
    case, (report, _) = zoo.case(kind), report_of(kind)
    page = opened(report)
    page.locator("#example").select_option(value="7")
    values = report.contents.examples[7].values
    steps = report.contents.steps
    slider, panel = page.locator("#length"), page.locator("#model")
    chosen = next(k for k, step in enumerate(steps) if step.is_chosen)
    assert slider.input_value() == str(chosen)
    assert slider.get_attribute("aria-valuetext") == f"{steps[chosen].numbers} numbers, this model"
    for _ in range(chosen):
        slider.press("ArrowLeft")
    for step in steps:
        text = panel.inner_text()
        assert f"{step.numbers} numbers" in panel.locator("output").inner_text()
        assert all(own.where in text for own in step.differences[1:])
        other = case.model.at(numbers=step.numbers)
        table = case.table.iloc[:1].copy()
        table.iloc[0] = list(values)
        found = zoo.predicted(other, table.astype(case.table.dtypes))[0]
        shown = panel.locator(".facts dd").last.inner_text()
        number = float(shown.split("=")[-1].rstrip("%").replace("−", "-").replace(",", ""))
        if kind != "squared_error":
            found = 100 * (found[1] if len(found) == 2 else max(found))
        assert number == pytest.approx(found, rel=1e-4, abs=0.06)
        way = other.decision_path(table.astype(case.table.dtypes)).indices
        assert drawn(page) == (step.leaves, sorted(way.tolist()))
        assert page.locator(".leaf-panel:visible").count() == (1 if step.is_chosen else 0)
        slider.press("ArrowRight")
    panel.get_by_text("back to this model").click()
    assert slider.input_value() == str(chosen)
    assert drawn(page)[0] == steps[chosen].leaves


def drawn(page):
    """Leaves of the tree that is shown, and the nodes on the path of the what-if row."""
    marked = page.locator(".node.on-path").evaluate_all("all => all.map(e => +e.dataset.node)")
    return page.locator(".node.leaf").count(), sorted(marked)


def test_a_leaf_that_is_asked_for_is_one_of_the_report_s_model(opened):
    report, _ = report_of("binary")
    page = opened(report)
    page.locator("#length").press("Home")
    assert "tree of the model with" in page.locator("#tree").inner_text()
    shown = page.locator("#what-if-result .path .link").inner_text()
    page.locator("#what-if-result .path .link").click()
    assert page.locator(".leaf-panel:visible h3").inner_text() == shown
    assert "this model" in page.locator("#model output").inner_text()
    assert "tree of the model with" not in page.locator("#tree").inner_text()


def test_leaves_that_share_nothing_have_no_slider(opened):
    model, X, y = fitted("binary")
    page = opened(model.report(X, y))
    assert page.locator("#model").count() == 0
    assert page.locator('nav a[href="#model"]').count() == 0


@pytest.mark.parametrize("width", [400, 800, 1300])
def test_the_model_fits_into_any_page(opened, width):
    model, X, y = hostile_model()
    page = opened(model.report(X, y), viewport={"width": width, "height": 900})
    too_wide = """part => [...part.querySelectorAll("*")]
        .filter(one => one.getBoundingClientRect().right > innerWidth).length"""
    assert page.locator("#model").evaluate(too_wide) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


# --- validation ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validated():
    """A report with all that can be asked for."""
    case = zoo.case("binary")
    table, y = labeled_rows("binary")
    return case.model.report(
        {"development": (table[:200], y[:200]), "a sample with a long name": (table, y)},
        challenger=case.model,
        optimism=optimism(case.model, table, y, n=2),
        learning_curve=learning_curve(case.model, table, y, n=2, shares=(0.5, 1.0)),
    )


def test_samples_challenger_and_curves_are_shown(opened, validated):
    page = opened(validated)
    part = page.locator("#validation")
    assert part.locator("h3").all_inner_texts() == [
        "Samples", "Challenger: ModelTreeClassifier", "Optimism", "Decision curve",
        "Learning curve",
    ]  # fmt: skip
    assert part.locator("polyline.curve.challenger").count() == 1
    assert part.locator("circle.dot").count() == 2
    assert "a sample with a long name" in part.inner_text()
    assert "reliability" in page.locator("#scores").inner_text()
    assert page.locator("nav a[href='#validation']").count() == 1
    plain = opened(report_of("squared_error")[0])
    assert plain.locator("#validation").count() == 0


@pytest.mark.parametrize("width", [400, 800, 1300])
def test_the_page_is_no_wider_than_the_window(opened, validated, width):
    page = opened(validated, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inner = "e => e.scrollWidth - e.clientWidth"
    assert page.locator(".what-if .result").evaluate(inner) <= 0


def test_stability_is_a_part_on_request(opened):
    report, _ = report_of("squared_error")
    page = opened(report)
    assert page.locator("#resampled").count() == 0
    model, X, y = fitted("squared_error")
    found = stability(model, X, y, n=5)
    page = opened(model.report(X, y, stability=found))
    part = page.locator("#resampled")
    assert "5 trees on" in part.inner_text()
    used = [own for own in found.columns if max(own.splits, own.formulas) > 0]
    assert part.locator("tbody tr").count() == len(used)
    assert page.locator("nav a[href='#resampled']").inner_text() == "Stability"


@pytest.mark.parametrize(
    ("kind", "width", "scheme"),
    [("multiclass", 400, "light"), ("squared_error", 1300, "dark"), (None, 1300, "light")],
)
def test_nothing_in_the_page_hinders_people(opened, validated, kind, width, scheme):
    """What axe-core finds of WCAG 2.2, levels A and AA."""
    axe = needed.module("axe_playwright_python.sync_playwright").Axe()
    report = validated if kind is None else report_of(kind)[0]
    page = opened(report, viewport={"width": width, "height": 900}, color_scheme=scheme)
    levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    found = axe.run(page, options={"runOnly": levels}).response
    assert len(found["passes"]) > 20
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []


def test_what_the_model_says_comes_first(opened):
    page = opened(report_of("squared_error")[0], viewport={"width": 1300, "height": 900})
    assert page.locator("main > section").first.get_attribute("id") == "model"
    assert page.locator("nav a").first.inner_text() == "Model"
    assert page.locator("#model .postcard").bounding_box()["y"] < 300
    whole = opened(report_of("huber, winsor, clamp")[0])
    first = whole.locator("main > section").first.get_attribute("id")
    assert first == ("model" if whole.locator("#model").count() else "summary")

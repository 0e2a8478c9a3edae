"""The generated JavaScript, run by node: 10,000 rows, equal to rounding."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest
import zoo
from deep import deep_model

from glassleaf import ModelTreeRegressor, explain
from glassleaf.export import to_javascript

RUN = """
const scorer = require("./model.js");
const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
const one = (row) => ({
  predict: scorer.predict(row), leaf: scorer.leaf(row), raw: scorer.raw(row),
  path: scorer.path(row).map((step) => step.node),
  added: scorer.contributions(row).map((term) => term.added),
  intercept: scorer.model.nodes[scorer.leaf(row)].intercept,
});
console.log(JSON.stringify(rows.map(one)));
"""


@pytest.fixture
def scored(node, tmp_path):
    def run(model, rows, script=RUN):
        (tmp_path / "model.js").write_text(to_javascript(model), encoding="utf-8")
        (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        (tmp_path / "run.js").write_text(script)
        done = subprocess.run([node, "run.js"], cwd=tmp_path, capture_output=True, check=True)
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_node_says_what_predict_says(scored, kind):
    case = zoo.case(kind)
    found = scored(case.model, case.rows)
    np.testing.assert_allclose(
        [row["predict"] for row in found], case.expected, rtol=1e-12, atol=1e-13
    )
    leaves = case.model.apply(case.table)
    np.testing.assert_array_equal([row["leaf"] for row in found], leaves)
    paths = case.model.decision_path(case.table)
    tree = case.model.tree_
    for row, path in list(zip(found, paths, strict=True))[:300]:
        assert [*row["path"], row["leaf"]] == sorted(path.indices.tolist())
        n_terms = len(row["added"]) - len(tree.offsets)
        added = np.sum([row["intercept"], *row["added"][:n_terms]], axis=0)
        score = np.clip(added, tree.score_low[row["leaf"]], tree.score_high[row["leaf"]])
        score = np.sum([score, *row["added"][n_terms:]], axis=0)
        np.testing.assert_allclose(score, row["raw"], rtol=1e-9, atol=1e-9)


SHARES = """
const scorer = require("./model.js");
const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(rows.map((row) => scorer.shares(row))));
"""


@pytest.mark.parametrize("kind", ["binary", "multiclass", "huber, winsor, clamp"])
def test_shares_are_those_of_python(scored, kind):
    case = zoo.case(kind)
    known = explain(case.model, case.table[:100])
    for row, shares in zip(known, scored(case.model, case.rows[:100], SHARES), strict=True):
        told = [share for share in shares if any(share["added"]) or share["node"] == 0]
        added = {share["node"]: share["added"] for share in told}
        assert set(added) == {share.node for share in row.shares}
        for share in row.shares:
            np.testing.assert_allclose(
                np.ravel(share.added), added[share.node], rtol=1e-9, atol=1e-9
            )


def test_limits_that_a_leaf_does_not_have_are_not_written():
    assert '"limits":' not in to_javascript(zoo.case("multiclass, curves, clamp").model)
    model = zoo.case("multiclass, limits, curves, winsor").model
    source = to_javascript(model)
    assert source.count('"limits":') == source.count("[null,null]]") == model.get_n_leaves()


def test_rows_by_name(scored):
    case = zoo.case("multiclass")
    found = scored(case.model, case.records[:300])
    np.testing.assert_allclose([row["predict"] for row in found], case.expected[:300], rtol=1e-12)


def test_a_deep_tree(scored):
    model, X = deep_model()
    found = scored(model, X.tolist())
    np.testing.assert_allclose([row["predict"] for row in found], model.predict(X), rtol=1e-12)


BROWSER = """
const vm = require("vm"), fs = require("fs");
const page = vm.createContext({});
vm.runInContext(fs.readFileSync("model.js", "utf8"), page);
const rows = JSON.parse(fs.readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(rows.map((row) => page.glassleafModel.predict(row))));
"""


def test_in_a_browser_it_is_a_global(scored):
    case = zoo.case("binary")
    found = scored(case.model, case.rows[:100], BROWSER)
    np.testing.assert_allclose(found, case.expected[:100], rtol=1e-12)


def test_nothing_in_it_ends_a_script_element():
    source = to_javascript(zoo.case("binary").model)
    assert "</script" not in source and "<!--" not in source and "never seen" not in source


WRONG = """
const scorer = require("./model.js");
const messages = [[1], {}, [1, "x", 1, 1, "red", 1, "yes"]].map((row) => {
  try { scorer.predict(row); return ""; } catch (error) { return error.message; }
});
console.log(JSON.stringify(messages));
"""


def test_wrong_rows_are_errors(scored):
    short, empty, text = scored(zoo.case("binary").model, [], WRONG)
    assert "7 values" in short and 'no value for "a"' in empty and "no finite number" in text


CATEGORIES = """
const scorer = require("./model.js");
const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(rows.map((row) => {
  try { return scorer.predict(row); } catch (error) { return error.message; }
})));
"""


@pytest.mark.parametrize(
    "known",
    [[0, 1, 2], [2**53 + 1, "x"], ["0", "1.0", "02"], ["1", "1.0"], [False, True], ["no", "ja"]],
)
def test_numbers_and_texts_are_categories_as_in_python(scored, known):
    X = pd.DataFrame({"g": pd.Series(known * 50, dtype=object)})
    y = np.arange(len(X)) % len(known) * 3.0
    model = ModelTreeRegressor(categorical_features=["g"]).fit(X, y)
    scorer = model.scorer()
    rows = [[value] for value in (0, 1, 2, 9, True, "0", "1", "2.0", "02", "true", "False", "no",
                                  "constructor", "2", "03", "")]  # fmt: skip
    for row, found in zip(rows, scored(model, rows, CATEGORIES), strict=True):
        try:
            assert found == pytest.approx(scorer(row))
        except ValueError:
            assert "when the model was fitted" in found

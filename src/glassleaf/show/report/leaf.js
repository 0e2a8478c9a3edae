/* What there is to know of a leaf: its rule, its rows, its formula, its distributions. */
const SHOWN_TERMS = 12;

function leafPanels(view) {
  const panels = view.leaves.map((leaf) => leafPanel(view, leaf));
  const element = h("div", { class: "panels" }, panels);
  return { element: element, show: (number_) => panels.forEach((panel, k) => {
    panel.hidden = view.leaves[k].leaf !== number_;
  }) };
}

function leafPanel(view, leaf) {
  return h("article", { class: "panel leaf-panel", hidden: true, id: "leaf-" + leaf.leaf },
    h("h3", {}, "Leaf " + leaf.leaf),
    h("p", { class: "rule" }, leaf.rule.length ? "Rows with " : "", ruleOf(leaf.rule)),
    leafFacts(view, leaf),
    h("div", { class: "columns" },
      h("div", {}, formulas(view, leaf)),
      h("div", {}, distribution(view, leaf))));
}

function leafFacts(view, leaf) {
  const test = leaf.test, shown = view.positive;
  const facts = [["training rows", leaf.rows_text], [view.shown.rows, leaf.test_rows_text]];
  if (view.kind !== "multiclass") {
    const of = view.classes ? "share of " + view.classes[shown] : "mean target";
    facts.push([of + ", training", predicted(view, leaf.target[shown])],
      [`${of}, ${view.shown.of}`, `${predicted(view, test.target[shown])} (${predicted(view, test.low)} to ${predicted(view, test.high)})`],
      ["mean prediction, " + view.shown.of, predicted(view, test.prediction[shown])]);
  }
  return h("dl", { class: "facts" }, facts.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/* One formula, or one for every class: that of the most frequent one is open. */
function formulas(view, leaf) {
  const heads = view.outputs.map((name) => ["Score", name ? [" of ", named(name)] : "", " = the sum of"]);
  if (leaf.formulas.length === 1) return [h("h4", {}, heads[0]), formulaTable(leaf.formulas[0])];
  const first = leaf.target.indexOf(Math.max(...leaf.target));
  return leaf.formulas.map((formula, k) => disclosure(heads[k], k === first, formulaTable(formula)));
}

/* The formula as a list, a line for each column, category or gap: coefficients in line, and how much
   it matters in this leaf. A number that bends has a small picture of what it adds. */
function formulaTable(formula) {
  const largest = Math.max(...formula.terms.map((term) => term.influence), 0);
  const rows = formula.terms.map((term) => h("tr", {},
    h("td", { class: "number" }, term.products.map((one) => h("div", {}, signed(one.coef, 4)))),
    h("td", {}, term.products.map((one) => h("div", {}, "×\u00a0", around(one.text, term.title))), support(term.support)),
    h("td", { class: "wide" }, signedBar((term.way || 1) * term.influence, largest, term.way ? "" : "none"), term.line ? sparkline(term.line) : null),
    h("td", { class: "number quiet" }, inLine(largest)(term.influence))));
  const head = h("thead", {}, h("tr", {}, ["coefficient", "", "influence", ""].map((text, k) =>
    h("th", { scope: "col", class: k % 2 ? null : k ? "wide" : "number" }, text))));
  const start = h("tr", {}, h("td", { class: "number" }, number(formula.start, 5)),
    h("td", {}, "start value"), h("td", {}), h("td", {}));
  return h("div", { class: "formula" },
    h("table", {}, head, h("tbody", {}, start, rows)),
    fold(rows.slice(SHOWN_TERMS), false, `${rows.length - SHOWN_TERMS} smaller terms`));
}

/* How many rows stand behind the coefficient of a category or of a missing value. */
function support(found) {
  return found ? h("span", { class: found.few ? "support warn" : "support" }, " " + found.text) : null;
}

function distribution(view, leaf) {
  if (view.kind === "multiclass") return classShares(view, leaf);
  const { axis, edges, series } = view.distribution, test = leaf.test;
  const heading = (view.classes ? "Predicted probabilities in this leaf, " : "Target and prediction in this leaf, ") + view.shown.rows;
  if (!test.rows) return h("p", { class: "quiet" }, `No ${view.shown.row} reached this leaf.`);
  const marks = [
    { value: leaf.target[view.positive], kind: "training", name: "training mean" },
    { value: test.target[view.positive], kind: "test", name: view.shown.of + " mean" },
  ];
  const counted = series.map((name, k) => ({ name: name, counts: test.histograms[k] }));
  const words = view.classes ? series.map((name) => ["rows that are ", h("bdi", {}, name)]) : series;
  return h("figure", {}, h("h4", {}, heading),
    histogram(edges, counted, marks, axis, Boolean(view.classes)),
    legend([["series0", words[0]], ["series1", words[1]],
      ["training", view.classes ? "share in training" : "mean in training"],
      ["test", (view.classes ? "share in " : "mean in ") + view.shown.of]]));
}

function classShares(view, leaf) {
  return h("div", {}, h("h4", {}, "Classes in this leaf"),
    table("Classes in leaf " + leaf.leaf, ["class", { text: "training", number: true }, { text: view.shown.of, number: true },
      { text: "predicted", number: true }, "training share"],
    view.classes.map((name, k) => [named(name), percent(leaf.target[k]), percent(leaf.test.target[k]),
      percent(leaf.test.prediction[k]), plainBar(leaf.target[k])])));
}

/* Puts the page together. */
const view = JSON.parse(document.getElementById("report-data").textContent);
const PARTS = [["summary", "Summary"], ["tree", "Tree"], ["what-if", "What if"], ["scores", "Scores"],
  ["leaves", "Leaves"], ["features", "Features"], ["gains", "Splits"], ["data", "Data notes"]];
const isValidated = validationParts(view).length > 0;
if (isValidated) PARTS.splice(PARTS.findIndex(([id]) => id === "leaves"), 0, ["validation", "Validation"]);
/* A model that can be said in words comes first, then its picture, then what it is worth. */
if (view.steps.length) PARTS.splice(0, 2, ["model", "Model"], ["tree", "Tree"], ["summary", "Summary"]);
if (view.estimates) PARTS.splice(PARTS.findIndex(([id]) => id === "leaves"), 0, ["estimates", "Coefficients"]);
if (view.resampled) PARTS.splice(PARTS.findIndex(([id]) => id === "data"), 0, ["resampled", "Stability"]);
if (view.bends.length) PARTS.splice(PARTS.findIndex(([id]) => id === "what-if"), 0, ["bends", "Bends"]);

/* Light, dark, or as the system has it. */
function themeButton() {
  const root = document.documentElement;
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark"
    : window.matchMedia("(prefers-color-scheme: dark)").matches;
  const button = h("button", { type: "button", class: "theme", onclick: () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  } });
  function label() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Switch to " + button.textContent.toLowerCase() + " colors");
  }
  label();
  return button;
}

function build() {
  const panels = leafPanels(view);
  let board = null, model = null;
  const onLeaf = (leaf, scroll) => {
    model.back();
    panels.show(leaf);
    markLines(leaf);
    board.select(view.leaves.find((one) => one.leaf === leaf).node);
    if (scroll) document.getElementById("tree").scrollIntoView();
  };
  board = treeBoard(view, onLeaf, h("div", {}, h("p", { class: "quiet" }, view.intro.leaf), scaleList(view), panels.element));
  model = modelSection(view, board);
  const whatIf = whatIfSection(view, model.showRow, onLeaf);
  const header = h("header", {}, h("h1", { title: view.title }, view.title),
    h("p", { class: "prose" }, view.summary[0]), h("nav", { "aria-label": "Parts" },
    PARTS.map(([id, name]) => h("a", { href: "#" + id }, name)), themeButton()));
  const summary = summarySection(view), tree = section("tree", "The tree", view.intro.tree, board.element);
  document.getElementById("report").append(header, h("main", {},
    ...(model.element ? [model.element, tree, summary] : [summary, tree]),
    view.bends.length ? bendSection(view) : null, whatIf.element, scoreSection(view), isValidated ? validationSection(view) : null, view.estimates ? estimateSection(view) : null, leafSection(view, onLeaf), featureSection(view), gainSection(view),
    view.resampled ? resampledSection(view) : null, dataSection(view)),
  h("footer", {}, view.origin + " This page loads nothing from elsewhere."));
  const first = whatIf.leaf ? view.leaves.find((leaf) => leaf.node === whatIf.leaf()) : view.leaves[0];
  onLeaf(first.leaf);
}

build();

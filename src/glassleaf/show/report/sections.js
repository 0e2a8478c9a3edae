/* The parts of the page that only show. */
const SHOWN_FEATURES = 15;
const SHOWN_CLASSES = 20;

function summarySection(view) {
  const cards = view.scores.slice(0, 4).map((score) => h("div", { class: "card" },
    h("div", { class: "card-name" }, score.name), h("div", { class: "card-value" }, score.value),
    h("div", { class: "quiet" }, "95%: " + score.interval),
    h("div", { class: "quiet" }, "constant guess: " + score.baseline)));
  return section("summary", "Summary", view.intro.summary,
    h("div", { class: "prose" }, view.summary.slice(1).map((line) => h("p", {}, line))),
    h("div", { class: "cards" }, cards));
}

function scoreSection(view) {
  return section("scores", "Scores", view.intro.scores, view.weights.map((line) => h("p", {}, line)),
    table("Scores", ["score", { text: "value", number: true }, { text: "95% interval", number: true },
      { text: "constant guess", number: true }, "what it means"],
    view.scores.map((score) => [score.name, h("strong", {}, score.value), score.interval, score.baseline,
      h("span", { class: "long" }, score.meaning, h("span", { class: "quiet" }, ` Interval: ${score.method}.`))])),
    view.classes ? classesPart(view) : null,
    h("div", { class: "pairs" },
      view.on_classes && view.on_classes.roc.length ? titled("ROC curve", view.intro.roc, rocChart(view)) : null,
      titled("Calibration", view.intro.calibration,
        [view.calibration.map((item) => calibrationChart(item, Boolean(view.classes))),
          view.brier.map((line) => h("p", { class: "quiet" }, line))])));
}

/* A picture with its heading and what it is for. */
function titled(title, intro, content) {
  return h("div", {}, h("h3", {}, title), h("p", { class: "intro" }, intro), h("div", { class: "charts" }, content));
}

/* Predicted against true classes. A matrix of many classes cannot be read here; it is in the data. */
function classesPart(view) {
  const { rates } = view.on_classes, several = view.classes.length > 2;
  const percents = ["share", "predicted", "recall", "precision"];
  const titles = ["share", "predicted share", "recall", "precision", ...(several ? ["AUC", "95% interval"] : [])];
  return h("div", {}, h("h3", {}, "Classes"), h("p", { class: "intro" }, view.intro.classes),
    view.classes.length <= SHOWN_CLASSES ? confusionTable(view) : null,
    table("Rates of the classes", ["class", ...titles.map((text) => ({ text: text, number: true }))],
      rates.map((one, k) => [named(view.classes[k]), ...percents.map((name) => percent(one[name])),
        ...(several ? [one.auc, one.interval] : [])]), SHOWN_CLASSES));
}

/* Every row of the matrix is a true class; the darker a cell, the larger its share of that class. */
function confusionTable(view) {
  const lines = view.on_classes.confusion.map((row, k) => {
    const total = row.reduce((a, b) => a + b, 0);
    return h("tr", {}, h("th", { scope: "row" }, named(view.classes[k])), row.map((weight, j) => {
      const share = total > 0 ? weight / total : 0;
      const cell = h("td", { class: "number cell " + (j === k ? "hit" : "miss") }, h("strong", {}, counted(weight)), " ",
        h("span", { class: "quiet" }, total > 0 ? percent(share) : ""));
      cell.style.setProperty("--share", share.toFixed(3));
      return cell;
    }));
  });
  const head = [h("tr", {}, h("td", {}), h("th", { scope: "colgroup", colspan: view.classes.length }, "predicted")),
    h("tr", {}, h("th", { scope: "col" }, "true"), view.classes.map((name) => h("th", { scope: "col", class: "number" }, named(name))))];
  return h("div", { class: "scroll confusion", role: "region", tabindex: "0", "aria-label": "Confusion matrix" },
    h("table", {}, h("thead", {}, head), h("tbody", {}, lines)));
}

/* What a reader needs to compute rank(x) by hand. */
function scaleList(view) {
  const { intro, texts } = view.scales;
  if (!texts.length) return null;
  return disclosure("rank(x) of every feature that has one, point by point", false,
    [h("p", { class: "quiet" }, intro), ...texts.map((parts) => h("p", { class: "quiet" }, around(parts)))]);
}

function leafSection(view, onLeaf) {
  const classes = view.kind === "multiclass";
  const of = view.classes ? "share of " + view.classes[view.positive] : "mean target";
  const header = ["leaf", "rule", { text: "training rows", number: true }, { text: view.shown.rows, number: true }];
  if (!classes) {
    header.push({ text: of + ", training", number: true }, { text: `${of}, ${view.shown.of}`, number: true },
      { text: "mean prediction, " + view.shown.of, number: true });
  } else header.push("most frequent class in training");
  return section("leaves", "Leaves", view.intro.leaves, table("Leaves", header, view.leaves.map((leaf) => [
    h("button", { type: "button", class: "link", onclick: () => onLeaf(leaf.leaf, true) }, "Leaf " + leaf.leaf),
    h("span", { class: "long" }, ruleOf(leaf.rule)), count(leaf.rows), count(leaf.test.rows),
    ...(classes
      ? [named(view.classes[leaf.target.indexOf(Math.max(...leaf.target))])]
      : [leaf.target, leaf.test.target, leaf.test.prediction].map((of) => predicted(view, of[view.positive])))])));
}

/* Coefficients with their intervals, where they were given. */
function estimateSection(view) {
  const { coverage, has_classes, lines, differences, notes } = view.estimates;
  const all = lines.flatMap((line) => line.ends || []).concat(0);
  const range = [Math.min(...all), Math.max(...all)];
  const header = ["where", ...(has_classes ? ["class"] : []), "term", { text: "estimate", number: true },
    { text: "standard error", number: true }, { text: coverage + " interval", number: true },
    { text: "p", number: true }, ""];
  return section("estimates", "Coefficients", view.intro.estimates,
    differences.length ? h("ul", {}, differences.map((text) => h("li", {}, text))) : null, table("Coefficients", header,
    lines.map((line) => [h("span", { class: "long" }, line.where), ...(has_classes ? [named(line.class)] : []),
      h("span", { class: "long" }, line.term), line.estimate ?? "none", line.error ?? "none", line.interval,
      line.p, line.ends ? intervalBar(line.ends, range) : ""])),
  h("p", { class: "quiet" }, view.intro.points), h("ul", {}, notes.map((note) => h("li", {}, note))));
}

function featureSection(view) {
  const largest = Math.max(...view.features.map((feature) => feature.effect), 1e-12);
  return section("features", "Features", view.intro.features, table("Features",
    ["feature", { text: "effect", number: true }, "", { text: "gain", number: true },
      { text: "splits", number: true }, "in training"],
    view.features.map((feature) => [named(feature.label, feature.name), percent(feature.effect),
      plainBar(feature.effect / largest), percent(feature.gain), String(feature.splits), h("span", { class: "one-line" }, inTraining(feature))]), SHOWN_FEATURES));
}

/* What trees on resampled rows have in common with the model. */
function resampledSection(view) {
  const { sentences, columns } = view.resampled;
  const share = (own, isUsed) => [percent(own), isUsed ? " ●" : ""];
  return section("resampled", "Stability", view.intro.resampled,
    h("div", { class: "prose" }, sentences.map((line) => h("p", {}, line))),
    table("Columns in resampled trees", ["column", { text: "first split", number: true },
      { text: "splits (●: in the model)", number: true }, "", { text: "formulas (●: in the model)", number: true }, ""],
    columns.map((own) => [named(own.label, own.name), percent(own.root), share(own.splits, own.in_splits),
      plainBar(own.splits), share(own.formulas, own.in_formulas), plainBar(own.formulas)]), SHOWN_FEATURES));
}

function inTraining(feature) {
  if (feature.categories) return `${feature.categories.length} categories`;
  return feature.low === null ? "all missing" : `${valueText(feature, feature.low)} to ${valueText(feature, feature.high)}`;
}

function gainSection(view) {
  if (!view.gains.length) {
    return section("gains", "Splits and their rivals", view.intro.gains, h("p", {}, "There is no split."));
  }
  return section("gains", "Splits and their rivals", view.intro.gains, view.gains.map((split, k) => {
    const highest = Math.max(...split.candidates.map((candidate) => candidate.gain),
      ...split.candidates.flatMap((candidate) => candidate.points.map((p) => p[1])), 1e-300);
    return disclosure([`Split ${k + 1}: `, ruleOf(split.rule), ` (${count(split.rows)} rows)`], k === 0,
      h("div", { class: "charts" }, split.candidates.map((candidate) => h("figure", { class: "gain" },
        h("figcaption", { class: candidate.chosen ? "chosen" : "" }, candidate.chosen ? "chosen: " : "",
          around(candidate.text), h("span", { class: "quiet" }, gainText(candidate))),
        candidate.points.length ? gainChart(candidate, highest) : null))));
  }));
}

/* Test rows that are in no bar below a line. */
function rowsAside(rows) {
  const parts = [[rows.beyond, "beyond"], [rows.missing, "missing"], [rows.special, "special values"]].filter(([share]) => share > 0.0005)
    .map(([share, text]) => `${percent(share)} ${text}`);
  return parts.length ? h("div", { class: "quiet" }, "Test rows: " + parts.join(", ")) : null;
}

/* The gains of sets of categories are kept without the sets: which is the chosen one is not known. */
function gainText(candidate) {
  const isOfBest = candidate.chosen && !candidate.number;
  return `${isOfBest ? "; best set:" : ","} estimated gain ${number(candidate.gain)}`;
}

function bendSection(view) {
  const of = view.outputs[view.outputs.length - 1];
  return section("bends", "Bends", view.intro.bends, h("p", { class: "intro" }, view.intro.densities), h("div", { class: "charts" }, view.bends.map((bent) =>
    h("figure", { class: "bent" }, h("figcaption", {}, named(bent.label, bent.name), of ? [", score of ", named(of)] : null),
      bendChart(view, bent), rowsAside(bent.rows)))));
}

const LEVELS = ["", "look", "changed"];

function dataSection(view) {
  const badge = (level) => (level ? h("span", { class: "badge level" + level }, LEVELS[level]) : "");
  const notes = view.data.features;
  const rows = notes.map((note) => [named(note.label, note.feature), badge(note.level),
    [note.remarks.join("; ") + (note.new_categories.length ? ": " + note.new : ""),
      ...note.special.map(([word, before, now]) => h("div", { class: "quiet" }, h("bdi", {}, word),
        `: ${before === null ? "not kept" : percent(before)} in training, ${percent(now)} here`))],
    note.missing_training === null ? "not kept" : percent(note.missing_training), percent(note.missing_test),
    percent(note.outside), note.shift === null ? "" : inLine(1)(note.shift, true),
    note.stability === null ? "" : note.stability.toFixed(3)]);
  const header = ["feature", "", "remark", { text: "missing, training", number: true },
    { text: "missing, " + view.shown.of, number: true }, { text: "outside", number: true },
    { text: "shift", number: true }, { text: "stability", number: true }];
  const marked = notes.filter((note) => note.level).length;
  return section("data", "Data notes", view.intro.data,
    h("p", {}, `${marked} of ${notes.length} features are marked. Stability (PSI): `,
      view.data.stability.map((own, k) => [k ? ", " : "", own.label + " ", h("strong", {}, own.psi.toFixed(3)), " ", badge(own.level)])),
    table("Data notes", header, rows, Math.max(marked, 5)),
    h("ul", { class: "quiet" }, view.definitions.map((line) => h("li", {}, line))));
}

/* The what-if scorer: a form with one input per column, scored by glassleafScorer on every edit. */
const NEW_CATEGORY = -1;
const SHOWN_PARTS = 10;

function whatIfSection(view, onRow, onLeaf) {
  if (!view.model) {
    return { element: section("what-if", "What if", view.intro.what_if,
      h("p", {}, "This model cannot be scored in a page: " + view.no_model)) };
  }
  const scorer = glassleafScorer(ofParts(view.model));
  const edited = () => {
    picker.showEdited();
    update();
  };
  const inputs = new Map(view.features.map((feature) => [feature.column, input(feature, edited)]));
  const result = h("div", { class: "panel result", id: "what-if-result" });
  const spoken = h("p", { class: "spoken", role: "status" });
  const choice = view.outputs.length > 1 ? classChoice(view, () => update()) : null;
  function update() {
    const values = view.model.columns.map((column, j) => (isPart(column)
      ? partOf(column, inputs.get(daysColumn(view.model, column)).value()) : inputs.get(j).value()));
    result.replaceChildren(...(choice ? [choice.element] : []), ...showResult(view, scorer, values, choice, onRow, onLeaf));
    inputs.forEach((one) => one.remark());
    const headline_ = result.querySelector(".headline");
    spoken.textContent = headline_ ? "Prediction: " + headline_.textContent : "No prediction";
  }
  const fill = (cells) => {
    cells.forEach((cell, j) => inputs.get(j).set(cell));
    update();
  };
  const picker = examplePicker(view, fill);
  const inUse = new Set(view.model.offsets.map((offset) => offset.column));
  for (const feature of view.features.filter((one) => one.used)) {
    const column = view.model.columns[feature.column];
    inUse.add(isPart(column) ? daysColumn(view.model, column) : feature.column);
  }
  const asked = view.features.filter((feature) => !isPart(view.model.columns[feature.column]));
  const used = asked.filter((feature) => inUse.has(feature.column));
  const unused = asked.filter((feature) => !inUse.has(feature.column));
  const fields = (features) => h("div", { class: "fields" }, features.map((f) => inputs.get(f.column).element));
  const form = h("form", { class: "what-if-form", onsubmit: (event) => event.preventDefault() },
    picker.element, fields(used),
    unused.length ? disclosure(`${unused.length} columns that the model does not use`, false, fields(unused)) : null);
  fill(view.rows.typical);
  return { element: section("what-if", "What if", view.intro.what_if,
    h("div", { class: "what-if" }, form, h("div", {}, spoken, result))), leaf: () => scorer.leaf(rowOf(view, view.rows.typical)) };
}

/* Rows to start from. Once such a row was changed it is another, which the list then shows; to
   choose the first one again takes it back. */
function examplePicker(view, fill) {
  const examples = view.rows.examples;
  const options = [h("option", { value: "-1" }, "a typical row (medians, most frequent categories)"),
    ...examples.map((example, k) => h("option", { value: String(k) },
      `${view.shown.row} ${example.row}: predicted ${predicted(view, example.prediction)}, came ${example.target}`))];
  const changed = h("option", { value: "edited" });
  const select = h("select", { id: "example", onchange: () => {
    const k = Number(select.value);
    changed.remove();
    fill(k < 0 ? view.rows.typical : examples[k].values);
  } }, options);
  return { element: h("div", { class: "field picker" }, h("label", { for: "example" }, "Start from"), select),
    showEdited: () => {
      if (select.value === "edited") return;
      const start = Number(select.value) < 0 ? "the typical row" : `${view.shown.row} ${examples[Number(select.value)].row}`;
      changed.textContent = `${start}, edited`;
      select.prepend(changed);
      select.value = "edited";
    } };
}

/* The form asks for dates; the model is scored on their parts. */
function ofParts(model) {
  return { ...model, columns: model.columns.map((column) => ({ ...column, date: undefined })) };
}

function isPart(column) {
  return Boolean(column.date) && column.date.part !== "days";
}

function daysColumn(model, column) {
  return model.columns.findIndex((one) => one.date && one.date.part === "days" && one.date.source === column.date.source);
}

/* A part of a date, as the form has it: the hour, or the position of a category. */
function partOf(column, days) {
  if (days === null || days === undefined) return days;
  const date = new Date(Math.round(days * DAY));
  if (column.date.part === "hour") return date.getUTCHours();
  const options = { timeZone: "UTC", [column.date.part]: "short" };
  return column.categories.indexOf(date.toLocaleDateString("en-US", options));
}

/* The days of a date's text. */
function daysIn(text) {
  const ticks = Date.parse(text.replace(" ", "T") + (text.length > 10 ? "Z" : ""));
  return ticks / DAY;
}

function input(feature, changed) {
  if (feature.date) return dateInput(feature, changed);
  return feature.categories ? categoryInput(feature, changed) : numberInput(feature, changed);
}

function fieldOf(feature, control, hint) {
  const id = "input-" + feature.column;
  control.id = id;
  control.setAttribute("aria-describedby", id + "-hint");
  hint.id = id + "-hint";
  return h("div", { class: "field" }, h("label", { for: id }, named(feature.label, feature.name)), control, hint);
}

function numberInput(feature, changed) {
  const hint = h("span", { class: "hint" });
  const control = h("input", { type: "number", step: "any", placeholder: "missing", autocomplete: "off", oninput: changed });
  const codes = feature.special.map(([code, word]) => `, ${code}: ${word}`).join("");
  const range = feature.low === null ? "no values in training" : `${number(feature.low)} to ${number(feature.high)} in training`;
  const word = (x) => (feature.special.find(([code]) => code === x) || [null, null])[1];
  return {
    element: fieldOf(feature, control, hint),
    set: (cell) => { control.value = cell === null ? "" : String(cell); },
    value: () => (control.validity.badInput ? undefined : control.value === "" ? null : Number(control.value)),
    remark: () => {
      const x = control.value === "" ? null : Number(control.value);
      const out = x !== null && word(x) === null && feature.low !== null && (x < feature.low || x > feature.high);
      hint.textContent = control.validity.badInput ? "not a number" : (out ? `outside ${range}` : word(x) || range) + codes;
      hint.classList.toggle("warn", out || control.validity.badInput);
    },
  };
}

function dateInput(feature, changed) {
  const hint = h("span", { class: "hint" });
  const isDay = feature.date === "day";
  const control = h("input", { type: isDay ? "date" : "datetime-local", step: isDay ? "1" : "any", oninput: changed });
  const range = feature.low === null ? "no values in training" : `${dateText(feature.low)} to ${dateText(feature.high)} in training`;
  const value = () => (control.validity.badInput ? undefined : control.value === "" ? null : daysIn(control.value));
  return {
    element: fieldOf(feature, control, hint),
    set: (cell) => { control.value = cell === null ? "" : isDay ? cell.slice(0, 10) : (cell.length > 10 ? cell : cell + " 00:00").replace(" ", "T"); },
    value: value,
    remark: () => {
      const x = value(), out = typeof x === "number" && feature.low !== null && (x < feature.low || x > feature.high);
      hint.textContent = x === undefined ? "not a date" : out ? `outside ${range}` : range;
      hint.classList.toggle("warn", out || x === undefined);
    },
  };
}

function categoryInput(feature, changed) {
  const hint = h("span", { class: "hint" }, `${feature.categories.length} categories in training`);
  const control = h("select", { onchange: changed },
    feature.categories.map((category, k) => h("option", { value: String(k) }, category)),
    h("option", { value: "missing" }, "(missing)"),
    h("option", { value: String(NEW_CATEGORY) }, "(other: rare in training, or not seen)"));
  return {
    element: fieldOf(feature, control, hint),
    set: (cell) => { control.value = cell === null ? "missing" : String(cell); },
    value: () => (control.value === "missing" ? null : Number(control.value)),
    remark: () => {},
  };
}

function classChoice(view, changed) {
  const select = h("select", { id: "class-choice", onchange: changed },
    h("option", { value: "-1" }, "the predicted class"),
    view.classes.map((name, k) => h("option", { value: String(k) }, name)));
  return { element: h("div", { class: "field picker" }, h("label", { for: "class-choice" }, "Explain the score of"), select),
    of: (prediction) => (Number(select.value) < 0 ? prediction.indexOf(Math.max(...prediction)) : Number(select.value)) };
}

/* A row for the scorer: categories by their labels. */
function rowOf(view, values) {
  return values.map((value, j) => {
    const categories = view.model.columns[j].categories;
    if (typeof value === "string") return daysIn(value);
    if (categories === null || value === null) return value;
    return value === NEW_CATEGORY ? glassleafScorer.NEVER_SEEN : categories[value];
  });
}

function showResult(view, scorer, values, choice, onRow, onLeaf) {
  if (values.includes(undefined) || values.some((value) => value !== null && !isFinite(value))) {
    return [h("p", { class: "warn" }, "Every input must be a finite number or a date, or empty for missing.")];
  }
  const unknown = view.model.offsets.find((offset) => values[offset.column] === null || (offset.isExposure && values[offset.column] <= 0));
  if (unknown) {
    return [h("p", { class: "warn" }, named(featureOf(view, unknown.column).label), ` must be a number${unknown.isExposure ? " > 0" : ""}.`)];
  }
  const row = rowOf(view, values);
  const node = scorer.leaf(row), prediction = scorer.predict(row), raw = scorer.raw(row);
  const leaf = view.leaves.find((one) => one.node === node);
  const output = choice ? choice.of(prediction) : 0;
  const steps = scorer.path(row);
  onRow(row, scorer);
  const parts = contributions(view, scorer, row, leaf, output);
  const shares = new Map(scorer.shares(row).map((share) => [share.node, share.added[output]]));
  const known = scorer.contributions(row).slice(scorer.model.nodes[node].terms.length).map((part) => part.added[output]);
  return [headline(view, prediction, raw, leaf), pathList(view, steps, values, leaf, shares, onLeaf),
    story(view, leaf, parts, output), contributionTable(view, leaf, parts, raw[output], output, values, known)];
}

function headline(view, prediction, raw, leaf) {
  const exact = JSON.stringify({ prediction: prediction, raw: raw, leaf: leaf.node });
  if (!view.classes) {
    return h("div", { class: "headline", id: "prediction", "data-exact": exact },
      h("span", { class: "card-name" }, "prediction"), h("span", { class: "card-value" }, number(prediction, 6)));
  }
  const shown = view.classes.length === 2 ? [view.positive] : view.classes.map((_, k) => k);
  return h("div", { class: "headline", id: "prediction", "data-exact": exact }, shown.map((k) => h("div", { class: shown.length > 1 ? "probability many" : "probability" },
    h("span", { class: "card-name" }, "P(", h("bdi", {}, view.classes[k]), ")"),
    h("span", { class: shown.length > 1 ? "" : "card-value" }, percent(prediction[k])), plainBar(prediction[k]))));
}

function featureOf(view, column) {
  return view.features.find((feature) => feature.column === column);
}

/* The value of a column, as the form has it. */
function cellText(view, values, column) {
  const value = values[column], categories = view.model.columns[column].categories;
  if (value === null) return "missing";
  if (featureOf(view, column).date) return dateText(value);
  const special = featureOf(view, column).special.find(([code]) => code === value);
  if (special) return special[1];
  if (categories === null) return plainNumber(value);
  return value === NEW_CATEGORY ? "(other)" : featureOf(view, column).categories[value];
}

/* Where leaves share their formula, with what that gives, and what differs on the way. */
function pathList(view, steps, values, leaf, shares, onLeaf) {
  const text = inLine(Math.max(...Array.from(shares.values(), Math.abs)));
  const added = (node) => (shares.get(node) ? [": ", h("span", { class: "added" }, text(shares.get(node), true))] : null);
  const items = steps.map((step) => {
    const node = view.nodes[step.node];
    const column = view.model.nodes[step.node].column;
    const side = node.sides[step.goesLeft ? 0 : 1];
    return h("li", {}, around(side), h("span", { class: "quiet" }, " (it is ", h("bdi", {}, middle(cellText(view, values, column), 40)), ")"),
      added(view.nodes[step.node].children[step.goesLeft ? 0 : 1]));
  });
  return h("div", {}, h("h4", {}, "Where the row goes"), shares.size
    ? h("p", { class: "quiet" }, "The formula for all rows gives ", text(shares.get(0)), "; what differs on the way adds to it.") : null,
  h("ol", { class: "path" }, items,
    h("li", {}, h("button", { type: "button", class: "link", onclick: () => onLeaf(leaf.leaf, true) }, "Leaf " + leaf.leaf),
      ` (${count(leaf.rows)} training rows)`)));
}

/* A number beyond what the leaf saw counts as the nearest that it did see. */
function heldText(view, values, leaf, column) {
  const x = values[column], [low, high] = leaf.clamps[column];
  if (typeof x !== "number" || featureOf(view, column).categories || view.model.columns[column].knots.length) return null;
  const held = (end) => `, held at ${valueText(featureOf(view, column), end, 6)}`;
  if (low !== null && x < low) return held(low);
  return high !== null && x > high ? held(high) : null;
}

/* What each column adds to the score, relative to the mean row of the leaf. */
function contributions(view, scorer, row, leaf, output) {
  const added = new Array(row.length).fill(0);
  const terms = scorer.model.nodes[leaf.node].terms;
  scorer.contributions(row).slice(0, terms.length).forEach((part, k) => { added[terms[k].column] = part.added[output]; });
  return added
    .map((value, column) => ({ column: column, value: value - leaf.means[column][output] }))
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

/* The same in a sentence. */
function story(view, leaf, parts, output) {
  const named_ = (part) => h("bdi", { class: "name inline" }, featureOf(view, part.column).label);
  const up = parts.find((part) => part.value > 0), down = parts.find((part) => part.value < 0);
  const ofClass = view.classes ? (view.classes.length === 2 ? view.positive : output) : null;
  const typical = leaf.prediction[ofClass === null ? output : ofClass];
  return h("p", { class: "story" }, "A row with average inputs in leaf " + leaf.leaf + " gets ",
    ofClass === null ? null : ["P(", h("bdi", { class: "name inline" }, view.classes[ofClass]), ") = "],
    h("strong", {}, predicted(view, typical)), ". ",
    up ? ["This row's score is raised most by ", named_(up)] : "Nothing raises this row's score",
    down ? [up ? ", and lowered most by " : "; it is lowered most by ", named_(down), "."] : ".");
}

/* What a limit of the leaf's score takes away from the sum of its parts, or adds; mostly 0. */
function limitedBy(leaf, parts, output) {
  const sum = parts.reduce((total, part) => total + part.value, leaf.raw[output]), [low, high] = leaf.limits[output];
  if (low !== null && sum < low) return low - sum;
  return high !== null && sum > high ? high - sum : 0;
}

/* What an offset is called: the column, or its logarithm, and its value. */
function knownName(view, offset, values) {
  const feature = featureOf(view, offset.column), name = named(feature.label, feature.name);
  const value = h("span", { class: "quiet" }, " = ", plainNumber(values[offset.column]));
  return offset.isExposure ? ["log(", name, value, ")"] : [name, value];
}

function contributionTable(view, leaf, parts, raw, output, values, known) {
  const shown = parts.slice(0, SHOWN_PARTS).filter((part) => part.value !== 0);
  const rest = parts.slice(SHOWN_PARTS).reduce((sum, part) => sum + part.value, 0);
  const limited = limitedBy(leaf, parts, output);
  const ofLeaf = known.reduce((sum, value) => sum - value, raw);
  const largest = Math.max(...parts.map((part) => Math.abs(part.value)), Math.abs(limited), ...known.map(Math.abs));
  const text = inLine(Math.max(largest, Math.abs(leaf.raw[output]) / 100, Math.abs(raw) / 100));
  const line = (name, bar, value, kind) => h("tr", { class: kind || null }, h("td", { class: "what" }, name), h("td", { class: "wide" }, bar), h("td", { class: "number" }, value));
  const of = view.outputs[output] ? [" of ", named(view.outputs[output])] : null;
  return h("div", {}, h("h4", {}, "What each feature adds to the score", of),
    h("table", { class: "contributions" }, h("tbody", {},
      line("average inputs in this leaf", "", text(leaf.raw[output]), "total"),
      shown.map((part) => line([named(featureOf(view, part.column).label, featureOf(view, part.column).name),
        h("span", { class: "quiet" }, " = ", h("bdi", {}, middle(cellText(view, values, part.column), 24)), heldText(view, values, leaf, part.column)),
        h("span", { class: "quiet" }, featureOf(view, part.column).reason ? " · " + featureOf(view, part.column).reason : null)],
      signedBar(part.value, largest), text(part.value, true))),
      rest !== 0 ? line(`${parts.length - SHOWN_PARTS} others`, signedBar(rest, largest), text(rest, true)) : null,
      limited !== 0 ? line(`limited to ${number(ofLeaf, 5)}`, signedBar(limited, largest), text(limited, true)) : null,
      known.map((value, k) => line(knownName(view, view.model.offsets[k], values), signedBar(value, largest), text(value, true))),
      line("score of this row", "", text(raw), "total"))),
    h("p", { class: "quiet" }, view.link + "."));
}

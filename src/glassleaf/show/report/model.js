/* The model as one formula and what differs, and a slider through models of other lengths. */
function modelSection(view, board) {
  if (!view.steps.length) return { element: null, back: () => {}, showRow: (row, scorer) => board.showPath(wayOf(scorer, row)) };
  const scorers = view.steps.map((step) => (step.nodes ? glassleafScorer({ ...ofParts(view.model), nodes: step.nodes }) : null));
  const chosen = view.steps.findIndex((step) => step.chosen);
  const facts = h("dl", { class: "facts" }), said = h("div", { class: "postcard" });
  let place = chosen, row = null, own = null;
  const show = () => {
    const scorer = scorers[place];
    facts.replaceChildren(...stepFacts(view, view.steps[place], row && scorer ? scorer.predict(row) : null));
    if (row) board.showPath(wayOf(scorer || own, row));
  };
  const showStep = () => {
    said.replaceChildren(stepText(view, view.steps[place]));
    show();
  };
  const showRow = (given, scorer) => {
    [row, own] = [given, scorer];
    show();
  };
  showStep();
  if (view.steps.length === 1) {
    return { element: section("model", "The model", view.intro.model, h("div", { class: "panel" }, said, facts)), back: () => {}, showRow: showRow };
  }
  const slider = lengthSlider(view.steps, chosen, (k) => {
    place = k;
    board.showStep(view.steps[k]);
    showStep();
  });
  return { element: section("model", "The model", view.intro.model,
    h("div", { class: "panel" }, said, facts, slider.element), h("p", { class: "intro" }, view.intro.steps)), back: slider.back, showRow: showRow };
}

/* The nodes on the way of a row, its leaf the last. */
function wayOf(scorer, row) {
  return [...scorer.path(row).map((step) => step.node), scorer.leaf(row)];
}

/* From the shortest model to the longest; a button leads back to the one of the report. */
function lengthSlider(steps, chosen, onMove) {
  const words = (k) => `${count(steps[k].numbers)} numbers` + (k === chosen ? ", this model" : "");
  const shown = h("output", { for: "length" });
  const input = h("input", { type: "range", id: "length", min: 0, max: steps.length - 1, step: 1, value: chosen,
    oninput: () => move(Number(input.value)) });
  const goBack = () => {
    input.value = chosen;
    move(chosen);
  };
  const back = h("button", { type: "button", class: "link", onclick: goBack }, "back to this model");
  function label(k) {
    shown.textContent = words(k);
    input.setAttribute("aria-valuetext", words(k));
    back.hidden = k === chosen;
  }
  function move(k) {
    label(k);
    onMove(k);
  }
  label(chosen);
  return { back: () => { if (!back.hidden) goBack(); }, element: h("div", { class: "slider" }, h("label", { for: "length" }, "Numbers to read"),
    h("span", { class: "track" }, h("span", { class: "quiet" }, count(steps[0].numbers)), input, h("span", { class: "quiet" }, count(steps[steps.length - 1].numbers))), shown, back) };
}

function stepFacts(view, step, prediction) {
  const facts = [["numbers to read", count(step.numbers)], ["leaves", count(step.leaves)]];
  if (step.validated) facts.push(["validated loss", step.validated]);
  step.scores.forEach(([name, value]) => facts.push([`${name}, ${view.shown.of}`, value]));
  if (prediction !== null) facts.push(["the row of the what-if part", rowPrediction(view, prediction)]);
  return facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
}

/* Of two classes the positive one, of several the most probable. */
function rowPrediction(view, prediction) {
  if (!view.classes) return number(prediction, 6);
  const k = view.classes.length === 2 ? view.positive : prediction.indexOf(Math.max(...prediction));
  return ["P(", h("bdi", { class: "name inline" }, view.classes[k]), ") = ", percent(prediction[k])];
}

/* The formula for all rows, then nested lists of what differs. */
function stepText(view, step) {
  const [root, ...others] = step.lines;
  const lists = [h("ul", {})];
  for (const line of others) {
    lists.length = line.depth;
    const below = h("ul", {});
    lists[line.depth - 1].append(h("li", {}, lineText(view, line), below));
    lists.push(below);
  }
  return h("div", {}, lineText(view, root), others.length ? lists[0] : null,
    h("p", { class: "quiet" }, [view.link + ".", ...step.notes].join(" ")));
}

function lineText(view, line) {
  const head = h("div", {}, h("strong", {}, line.where ? around(line.where) : "All rows"), " ", h("span", { class: "quiet" }, line.rows));
  const isRoot = line.where === null;
  const said = line.sums.map((sum, k) => (sum.length || isRoot ? h("div", { class: "sum" }, scoreName(view, k, isRoot), sumText(sum, isRoot)) : null));
  const same = h("div", { class: "sum quiet" }, "as above");
  return [head, said.some((one) => one !== null) ? said : same];
}

function scoreName(view, k, isRoot) {
  if (view.outputs.length > 1) return ["score of ", named(view.outputs[k]), isRoot ? " = " : " "];
  return isRoot ? "score = " : null;
}

/* Products with their signs; the first of a whole formula has one only below zero. */
function sumText(sum, isWhole) {
  return sum.map(([isNegative, size, parts], k) => {
    const sign = isWhole && !k ? (isNegative ? "-" : "") : isNegative ? "- " : "+ ";
    return [h("span", { class: "product" }, sign, size, parts ? ["·", around(parts)] : null), " "];
  });
}

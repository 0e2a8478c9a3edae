/* How far scores can be trusted: samples side by side, a challenger, net benefit, refits. */
function validationParts(view) {
  const { samples, challenger, decisions, optimism, learning } = view.validation;
  return [samples.length ? samplesPart(view) : null, challenger ? challengerPart(view) : null,
    optimism.length ? optimismPart(view) : null,
    decisions.length || learning ? h("div", { class: "pairs" },
      decisions.length ? titled("Decision curve", view.intro.decisions, decisionChart(view)) : null,
      learning ? titled("Learning curve", view.intro.learning_curve, learningChart(learning)) : null) : null,
  ].filter((part) => part !== null);
}

function validationSection(view) {
  return section("validation", "Validation", view.intro.validation, validationParts(view));
}

function tabled(title, intro, content) {
  return h("div", {}, h("h3", {}, title), h("p", { class: "intro" }, intro), content);
}

function samplesPart(view) {
  const { samples } = view.validation;
  const header = ["score", ...samples.map((sample) => ({ text: [named(sample.name), h("div", { class: "quiet" }, sample.rows)], number: true }))];
  return tabled("Samples", view.intro.samples, table("Samples", header, view.scores.map((score, k) => [score.name,
    ...samples.map((sample) => [h("strong", {}, sample.scores[k][0]), h("div", { class: "quiet" }, sample.scores[k][1])])])));
}

function challengerPart(view) {
  const { challenger } = view.validation;
  const titles = ["model", "challenger", "difference", "95% interval", "p"];
  return tabled(["Challenger: ", named(challenger.name)], view.intro.challenger, table("Challenger",
    ["score", ...titles.map((text) => ({ text: text, number: true }))],
    challenger.scores.map(([name, own, other, difference, ends, p]) => [name, own, other, h("strong", {}, difference), ends, p])));
}

function optimismPart(view) {
  const titles = ["on the training rows", "optimism", "corrected"];
  return tabled("Optimism", view.intro.optimism, table("Optimism",
    ["score", ...titles.map((text) => ({ text: text, number: true }))],
    view.validation.optimism.map(([name, apparent, flattered, corrected]) => [name, apparent, flattered, h("strong", {}, corrected)])));
}

/* Points are [probability, net benefit, low, high, that of acting on all rows]. */
function decisionChart(view) {
  const { decisions, rival } = view.validation;
  const top = 1.08 * Math.max(...decisions.map((p) => p[1]), decisions[0][4], 1e-9), low = -0.12 * top;
  const { svg, x, y } = frame(SQUARE.width, SQUARE.height, [0, 1], [low, top], "Net benefit against the probability from which one acts",
    { xPercent: true, xLabel: "acts from this probability on", xTicks: 5, edge: SQUARE.edge });
  const held = (value) => Math.min(Math.max(value, low), top);
  const line = (points, k) => points.map((p) => x(p[0]).toFixed(1) + "," + y(held(p[k])).toFixed(1));
  svg.append(s("polygon", { class: "band", points: [...line(decisions, 2), ...line(decisions, 3).reverse()].join(" ") }),
    s("line", { class: "axis", x1: x(0), x2: x(1), y1: y(0), y2: y(0) }),
    s("polyline", { class: "curve rival", points: line(decisions.filter((p) => p[4] >= low), 4).join(" ") }));
  if (rival.length) svg.append(s("polyline", { class: "curve challenger", points: line(rival, 1).join(" ") }));
  svg.append(s("polyline", { class: "curve chosen", points: line(decisions, 1).join(" ") }));
  const keys = [["curve-model", "model"], ...(rival.length ? [["curve-challenger", named(view.validation.challenger.name)]] : []),
    ["curve-rival", "act on all rows"], ["curve-none", "on none"]];
  return h("figure", { class: "square" }, svg, legend(keys), h("figcaption", {}, "Net benefit per row (up) of acting from a probability of ",
    named(view.classes[view.positive]), " on (right)"));
}

function learningChart(learning) {
  const points = learning.points, known = (v) => v !== null;
  const all = points.flatMap((p) => [p.training, p.test, p.test - (p.spread || 0), p.test + (p.spread || 0)]).filter(known);
  const pad = 0.06 * (Math.max(...all) - Math.min(...all)) || 0.01, rows = points.map((p) => p.rows);
  const { svg, x, y } = frame(SQUARE.width, SQUARE.height, [0, Math.max(...rows) * 1.03], [Math.min(...all) - pad, Math.max(...all) + pad],
    learning.score + " against rows of the fit", { xLabel: "rows of the fit", xTicks: 4, edge: SQUARE.edge });
  const line = (name) => points.map((p) => x(p.rows).toFixed(1) + "," + y(p[name]).toFixed(1)).join(" ");
  svg.append(s("polyline", { class: "curve rival", points: line("training") }), s("polyline", { class: "curve chosen", points: line("test") }));
  for (const p of points) {
    if (known(p.spread)) svg.append(s("line", { class: "error", x1: x(p.rows), x2: x(p.rows), y1: y(p.test - p.spread), y2: y(p.test + p.spread) }));
    svg.append(s("circle", { class: "dot", cx: x(p.rows), cy: y(p.test), r: 4 },
      s("title", {}, `${count(p.rows)} rows: ${number(p.test)} held out, ${number(p.training)} on their own; ${number(p.leaves, 3)} leaves, ${number(p.numbers, 3)} numbers`)));
  }
  return h("figure", { class: "square" }, svg, legend([["curve-model", "on rows held out"], ["curve-rival", "on rows of the fit"]]),
    h("figcaption", {}, `${learning.score} (up) against rows of the fit (right)`));
}

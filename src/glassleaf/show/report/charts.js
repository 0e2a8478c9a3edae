/* Small pictures: bars, lines, histograms, calibration. Colors come from the style sheet. */

/* Nice round places between two ends. */
function ticks(low, high, about = 5) {
  const rough = (high - low) / about;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((size) => size >= rough);
  const out = [];
  for (let t = Math.ceil(low / step) * step; t <= high + 1e-9 * step; t += step) {
    out.push(Math.abs(t) < 1e-9 * step ? 0 : t);
  }
  return out.length < 2 && about < 20 ? ticks(low, high, about + 1) : out;
}

/* Large numbers on an axis: 20M. */
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/* The texts of ticks, with as many digits as tell them apart. */
function tickTexts(values, isShare) {
  if (isShare) return values.map((share) => Number((100 * share).toPrecision(3)) + "%");
  const step = values.length > 1 ? values[1] - values[0] : Math.abs(values[0]);
  return values.map((value) => {
    if (Math.abs(value) >= 1e6) return COMPACT.format(value).replace("-", "−");
    const digits = value && step ? Math.floor(Math.log10(Math.abs(value)) + 1e-9) - Math.floor(Math.log10(step) + 1e-9) + 1 : 1;
    return number(value, Math.max(digits, 3));
  });
}

/* A frame with axes; `x` and `y` turn values into places. A strip above the x axis can be kept free
   for something else: it starts at `base`. */
function frame(width, height, xEnds, yEnds, label, options = {}) {
  const edge = { left: 46, right: 18, top: 8, bottom: 34, ...options.edge };
  const at = (ends, from, to) => (v) =>
    ends[1] > ends[0] ? from + ((v - ends[0]) / (ends[1] - ends[0])) * (to - from) : (from + to) / 2;
  const x = at(xEnds, edge.left, width - edge.right);
  const base = height - edge.bottom;
  const y = at(yEnds, base - (options.strip || 0), edge.top);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img",
    "aria-label": label, width: width, height: height });
  const yTicks = yEnds[1] > yEnds[0] ? ticks(...yEnds) : [];
  const yTexts = tickTexts(yTicks, options.percent || options.yPercent);
  yTicks.forEach((t, k) => svg.append(s("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(t), y2: y(t) }),
    s("text", { class: "tick end", x: edge.left - 6, y: y(t) + 3.5 }, yTexts[k])));
  const xTicks = xEnds[1] > xEnds[0] && !options.noX ? ticks(...xEnds, options.xTicks || 4) : [];
  const xTexts = options.xDate ? xTicks.map(dateText) : tickTexts(xTicks, options.percent || options.xPercent);
  xTicks.forEach((t, k) => svg.append(s("text", { class: "tick middle", x: x(t), y: base + 14 }, xTexts[k])));
  svg.append(s("line", { class: "axis", x1: edge.left, x2: width - edge.right,
    y1: base, y2: base }));
  if (options.xLabel) {
    svg.append(s("text", { class: "label middle", x: (edge.left + width - edge.right) / 2,
      y: height - 3 }, middle(options.xLabel, width / 7)));
  }
  return { svg: svg, x: x, y: y, base: base };
}

/* A bar from the middle: to the right above zero, to the left below. */
function signedBar(value, largest, className) {
  const share = largest > 0 ? Math.min(Math.abs(value) / largest, 1) * 50 : 0;
  const bar = h("span", { class: "bar " + (className || (value >= 0 ? "up" : "down")) });
  bar.style.width = share + "%";
  bar.style.left = (value >= 0 ? 50 : 50 - share) + "%";
  return h("span", { class: "bars signed", "aria-hidden": "true" }, bar);
}

/* A bar from the left. */
function plainBar(share, className) {
  const bar = h("span", { class: "bar " + (className || "up") });
  bar.style.width = 100 * Math.min(Math.max(share, 0), 1) + "%";
  return h("span", { class: "bars", "aria-hidden": "true" }, bar);
}

/* An interval with its point, between the two ends that all of them share; a line marks 0. */
function intervalBar([low, value, high], [first, last]) {
  const place = (x) => 100 * (x - first) / (last - first) + "%";
  const span = h("span", { class: "span " + (low <= 0 && high >= 0 ? "none" : "up") });
  const point = h("span", { class: "point " + (low <= 0 && high >= 0 ? "none" : "up") });
  const zero = h("span", { class: "zero" });
  span.style.left = place(low);
  span.style.width = 100 * (high - low) / (last - first) + "%";
  point.style.left = place(value);
  zero.style.left = place(0);
  return h("span", { class: "bars interval", "aria-hidden": "true" }, zero, span, point);
}

/* Pictures of equal axes. */
const SQUARE = { width: 340, height: 300, edge: { left: 56, right: 20 } };

function calibrationChart(item, isShare) {
  const bins = item.bins;
  const all = bins.flatMap((b) => [b.prediction, b.target, b.low, b.high]).filter((v) => v !== null);
  const pad = 0.04 * (Math.max(...all) - Math.min(...all));
  const ends = [isShare ? 0 : Math.min(...all) - pad, Math.max(...all) + pad];
  const { svg, x, y } = frame(SQUARE.width, SQUARE.height, ends, ends, "Mean target against mean prediction",
    { percent: isShare, xLabel: "mean prediction", xTicks: 5, edge: SQUARE.edge });
  svg.append(s("line", { class: "ideal", x1: x(ends[0]), y1: y(ends[0]), x2: x(ends[1]), y2: y(ends[1]) }));
  for (const b of bins) {
    if (b.low !== null) {
      svg.append(s("line", { class: "error", x1: x(b.prediction), x2: x(b.prediction), y1: y(b.low), y2: y(b.high) }));
    }
    svg.append(s("circle", { class: "dot", cx: x(b.prediction), cy: y(b.target), r: 4 },
      s("title", {}, `predicted ${number(b.prediction)}, came ${number(b.target)} (${count(b.rows)} rows)`)));
  }
  return h("figure", { class: "square" }, svg, h("figcaption", {}, isShare ? [named(item.name), ": share (up)"] : "Mean target (up)",
    " against mean prediction (right)"));
}

/* The ROC curve; the dot is where rows count as the positive class from a probability of 50%. */
function rocChart(view) {
  const points = view.on_classes.roc;
  const { svg, x, y } = frame(SQUARE.width, SQUARE.height, [0, 1], [0, 1], "ROC curve",
    { percent: true, xLabel: "others taken for it", xTicks: 5, edge: SQUARE.edge });
  svg.append(s("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    s("polyline", { class: "curve chosen", points: points.map((p) => x(p[1]).toFixed(1) + "," + y(p[2]).toFixed(1)).join(" ") }));
  const { recall } = view.on_classes.rates[view.positive], others = 1 - view.on_classes.rates[1 - view.positive].recall;
  svg.append(s("circle", { class: "dot", cx: x(others), cy: y(recall), r: 4 },
    s("title", {}, `from 50%: ${percent(recall)} found, ${percent(others)} of the others`)));
  return h("figure", { class: "square" }, svg, h("figcaption", {}, "Rows of ", named(view.classes[view.positive]), " that are found (up), others taken for it (right); the dot is at 50%, the dashed line is a coin"));
}

/* Gain along a feature: a curve over its thresholds, or a bar for each set of categories. */
function gainChart(candidate, highest) {
  return candidate.number ? gainCurve(candidate, highest) : gainBars(candidate, highest);
}

const GAIN = { width: 250, height: 158, edge: { bottom: 34, left: 50 } };

/* The dot, above the threshold of the title, is at the gain of the title. */
function gainCurve(candidate, highest) {
  const kind = candidate.chosen ? "chosen" : "rival", points = candidate.points;
  const xs = [...points.map((p) => p[0]), ...(candidate.place === null ? [] : [candidate.place])];
  const { svg, x, y } = frame(GAIN.width, GAIN.height, [Math.min(...xs), Math.max(...xs)], [0, highest * 1.05],
    "Gain of splits", { xTicks: candidate.date ? 2 : 3, xDate: candidate.date, xLabel: candidate.feature, edge: GAIN.edge });
  svg.append(s("polyline", { class: "curve " + kind,
    points: points.map((p) => x(p[0]).toFixed(1) + "," + y(p[1]).toFixed(1)).join(" ") }));
  if (candidate.place !== null) {
    const place = x(candidate.place);
    svg.append(s("line", { class: "place " + kind, x1: place, x2: place, y1: y(0), y2: y(candidate.gain) }),
      s("circle", { class: "block " + kind, cx: place, cy: y(candidate.gain), r: 4 }));
  }
  return svg;
}

/* Of the sets, the model keeps the gains of all and the categories of the best or chosen one. */
function gainBars(candidate, highest) {
  const kind = candidate.chosen ? "chosen" : "rival", n = candidate.points.length;
  const { svg, x, y, base } = frame(GAIN.width, GAIN.height, [-0.5, n - 0.5], [0, highest * 1.05],
    "Gain of splits", { noX: true, xLabel: "sets of categories, the best first", edge: GAIN.edge });
  const wide = Math.max((x(1) - x(0)) * 0.7, 1);
  candidate.points.forEach((p, k) => svg.append(s("rect", { class: "block " + kind, x: x(k) - wide / 2,
    y: y(p[1]), width: wide, height: Math.max(y(0) - y(p[1]), 0) }, s("title", {}, `set ${k + 1}: gain ${number(p[1])}`))));
  for (const k of n <= 12 ? candidate.points.keys() : [0, n - 1]) {
    svg.append(s("text", { class: "tick middle", x: x(k), y: base + 14 }, k + 1));
  }
  return svg;
}

/* What a feature that bends adds in every leaf. Below it, how many of the test rows lie where. */
function bendChart(view, bent) {
  const { low, high, edges, shares } = bent.rows, strip = 34;
  const values = bent.lines.flatMap((line) => line.points.map((p) => p[1]));
  const pad = 0.06 * (Math.max(...values) - Math.min(...values));
  const { svg, x, y, base } = frame(290, 214, [low, high], [Math.min(...values) - pad, Math.max(...values) + pad],
    "What the feature adds", { xTicks: bent.date ? 2 : 4, xDate: bent.date, strip: strip, edge: { bottom: 22, left: 50 } });
  const within = (value) => x(Math.min(Math.max(value, low), high));
  const highest = Math.max(...shares, 1e-9);
  shares.forEach((share, k) => {
    const from = within(edges[k]), height = (share / highest) * (strip - 8);
    if (share > 0) svg.append(s("rect", { class: "rows", x: from + 0.5, width: Math.max(within(edges[k + 1]) - from - 1, 0.5),
      y: base - height, height: height }, s("title", {}, `${valueText(bent, edges[k])} to ${valueText(bent, edges[k + 1])}: ${percent(share)} of the ${view.shown.rows}`)));
  });
  svg.append(s("line", { class: "axis", x1: x(low), x2: x(high), y1: y(0), y2: y(0) }));
  for (const line of bent.lines.filter((one) => one.points.length)) svg.append(leafLine(line, x, y, bent));
  return svg;
}

/* The line of one leaf, with dots where it bends; `markLines` shows which one is chosen. */
function leafLine(line, x, y, bent) {
  const places = line.points.map((p) => x(p[0]).toFixed(1) + "," + y(p[1]).toFixed(1)).join(" ");
  const dots = line.points.filter((p) => line.bends.includes(p[0])).map(([at, added]) =>
    s("circle", { class: "dot", cx: x(at), cy: y(added), r: 3 }, s("title", {}, `bends at ${valueText(bent, at, 6)}`)));
  return s("g", { class: "leaf-line", "data-leaf": line.leaf }, s("title", {}, "Leaf " + line.leaf),
    s("polyline", { class: "curve", points: places }), dots);
}

function markLines(leaf) {
  document.querySelectorAll(".leaf-line").forEach((line) => {
    const isChosen = line.dataset.leaf === String(leaf);
    line.classList.toggle("chosen", isChosen);
    if (isChosen) line.parentNode.append(line); // above the others
  });
}

/* A line as small as a word. */
function sparkline(points) {
  const width = 84, height = 24, edge = 2;
  const ends = (k) => [Math.min(...points.map((p) => p[k])), Math.max(...points.map((p) => p[k]))];
  const [low, high] = ends(0), [least, most] = ends(1);
  const place = (p) => [edge + ((p[0] - low) / (high - low || 1)) * (width - 2 * edge),
    height - edge - ((p[1] - least) / (most - least || 1)) * (height - 2 * edge)].map((v) => v.toFixed(1)).join(",");
  return s("svg", { class: "sparkline", width: width, height: height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": "What the feature adds, from its smallest to its largest value" },
  s("polyline", { points: points.map(place).join(" ") }));
}

/* Counts per bin, one color per series, beside marks of means. */
function histogram(edges, series, marks, label, isShare) {
  const width = 380, height = 170;
  const total = series.map((one) => one.counts.reduce((a, b) => a + b, 0) || 1);
  const heights = series.map((one, k) => one.counts.map((c) => c / total[k]));
  const highest = Math.max(...heights.flat(), 1e-9);
  const { svg, x, y } = frame(width, height, [edges[0], edges[edges.length - 1]], [0, highest * 1.12],
    label, { percent: isShare, xLabel: label, yPercent: true });
  series.forEach((one, k) => {
    const points = [];
    heights[k].forEach((v, b) => points.push([edges[b], v], [edges[b + 1], v]));
    const line = points.map(([a, v]) => x(a).toFixed(1) + "," + y(v).toFixed(1)).join(" ");
    svg.append(s("polygon", { class: "area series" + k,
      points: `${x(edges[0])},${y(0)} ${line} ${x(edges[edges.length - 1])},${y(0)}` }));
  });
  for (const mark of marks) {
    if (mark.value === null) continue;
    const place = x(Math.min(Math.max(mark.value, edges[0]), edges[edges.length - 1]));
    svg.append(s("line", { class: "mark " + mark.kind, x1: place, x2: place, y1: y(0), y2: y(highest * 1.1) },
      s("title", {}, mark.name)));
  }
  return svg;
}

/* Names of colors, below a picture. */
function legend(items) {
  return h("p", { class: "legend" }, items.map(([kind, text]) =>
    h("span", { class: "key" }, h("span", { class: "swatch " + kind, "aria-hidden": "true" }), text)));
}

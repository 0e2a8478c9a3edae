/* Elements and words. All text goes through text nodes: nothing here parses markup. */
const SVG = "http://www.w3.org/2000/svg";

/* h("p", {class: "x", onclick: f}, "text", child): children may be text, elements, lists, null. */
function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null));
  return element;
}

/* Somebody's name: its direction of writing stays its own, and its length too. */
function named(text, whole) {
  return h("bdi", { class: "name", title: whole || text }, text);
}

/* A text around a name, as `view.py` cuts it. */
function around([before, name, after], title) {
  return h("span", { class: "condition", title: title || before + name + after },
    before, h("bdi", {}, name), after);
}

/* The beginning and the end of a long name: names of a family often differ in the end only. */
function middle(text, length) {
  const letters = Array.from(text);
  if (letters.length <= length) return text;
  const end = Math.floor((length - 1) / 2);
  return letters.slice(0, length - 1 - end).join("") + "…" + letters.slice(letters.length - end).join("");
}

function ruleOf(conditions) {
  if (!conditions.length) return ["all rows"];
  return conditions.flatMap((condition, k) => (k ? [" and ", around(condition)] : [around(condition)]));
}

/* A number with that many significant digits; "–" where there is none. */
const DAY = 86400000;

/* Days since 1970-01-01 as a date, with a time of day where it has one. */
function dateText(days) {
  const text = new Date(Math.round(days * DAY)).toISOString().replace("T", " ").replace(/(:00)?\.000Z$|Z$/, "");
  return text.replace(/ 00:00$/, "");
}

/* A value of a feature that is a number. */
function valueText(feature, value, digits) {
  return feature.date ? dateText(value) : number(value, digits);
}

function number(value, digits = 4) {
  if (value === null || value === undefined || !isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(digits - 1).replace("-", "−");
  const places = Math.min(Math.max(digits - 1 - Math.floor(Math.log10(size)), 0), 12);
  const text = value.toFixed(places);
  const [whole, part] = text.split(".");
  const grouped = size >= 1e4 ? whole.replace(/\B(?=(\d{3})+$)/g, ",") : whole;
  const shown = part && /[1-9]/.test(part) ? grouped + "." + part.replace(/0+$/, "") : grouped;
  return shown.replace("-", "−");
}

/* A value of a row: no signs between its digits, for it may be a year or a code. */
function plainNumber(value) {
  return String(Number(value.toPrecision(6))).replace("-", "−");
}

function signed(value, digits = 3) {
  return (value > 0 ? "+" : "") + number(value, digits);
}

/* Numbers that stand in line: as many decimals as give the largest three digits. */
function inLine(largest) {
  const places = largest > 0 ? Math.min(Math.max(2 - Math.floor(Math.log10(largest)), 0), 12) : 2;
  return (value, plus) => {
    if (largest >= 1e7 || (largest > 0 && largest < 1e-6)) return plus ? signed(value) : number(value);
    const text = value.toFixed(places);
    return (plus && value > 0 ? "+" : "") + (Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−"));
  };
}

function percent(share) {
  if (share === null || share === undefined || !isFinite(share)) return "–";
  if (share > 0 && share < 0.001) return "<0.1%";
  if (share === 0 || Math.abs(share - 1) < 1e-9) return Math.round(100 * share) + "%";
  return (100 * share).toFixed(share > 0.995 || share < 0.005 ? 2 : 1) + "%";
}

/* Predictions: probabilities as percentages, numbers as numbers. */
function predicted(view, value) {
  return view.classes ? percent(value) : number(value, 5);
}

function count(n) {
  return n.toLocaleString("en-US");
}

/* A number of rows, or the sum of their weights. */
function counted(weight) {
  return Number.isInteger(weight) ? count(weight) : number(weight);
}

/* A part of the page: heading, a sentence on what it is for, and its content. */
function section(id, title, intro, ...content) {
  return h("section", { id: id, "aria-labelledby": id + "-title" },
    h("h2", { id: id + "-title" }, title), h("p", { class: "intro" }, intro), content);
}

/* Header cells may be text or {text, number: true}; cells of numbers stand in line. Rows from
 * `shown` on are folded. */
function table(caption, header, rows, shown = Infinity) {
  const cells = header.map((cell) => (typeof cell === "string" ? { text: cell } : cell));
  const align = (k) => (cells[k].number ? "number" : null);
  const lines = rows.map((row) => h("tr", {}, row.map((cell, k) =>
    h(k ? "td" : "th", { scope: k ? null : "row", class: align(k) }, cell))));
  return h("div", {}, h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
    h("table", {}, h("thead", {}, h("tr", {}, cells.map((cell, k) =>
      h("th", { scope: "col", class: align(k) }, cell.text)))), h("tbody", {}, lines))),
  fold(lines.slice(shown)));
}

/* A button that shows and hides elements; on paper they are always there. */
function fold(elements, open = false, label = `${elements.length} more`) {
  if (!elements.length) return null;
  const show = (isShown) => {
    elements.forEach((element) => { element.hidden = !isShown; });
    button.setAttribute("aria-expanded", String(isShown));
  };
  const button = h("button", { type: "button", class: "disclose", onclick: () => show(elements[0].hidden) }, label);
  show(open);
  return button;
}

/* What is shown on request, and always on paper. */
function disclosure(label, open, content) {
  const body = h("div", {}, content);
  return h("div", {}, fold([body], open, label), body);
}

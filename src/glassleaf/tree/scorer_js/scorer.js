/* Follows a row through a model tree. `model` is the object that glassleaf writes as JSON. If its
 * splits have terms, too, then those of every node are what it has more than its parent.
 *
 * A row is an array in the order of the columns, or an object by their names. null, undefined and
 * NaN are missing. Dates are ISO texts or Date objects, which count in UTC. Returned functions:
 *   predict(row)        the prediction, or an array with the probability of every class
 *   raw(row)            sums of the leaf's terms within its limits, one per output, and the
 *                       offsets; of two classes, the log-odds of model.classes[model.positive]
 *   leaf(row)           number of the leaf
 *   path(row)           [{node, column, value, goesLeft}, ...] from the root to the leaf
 *   shares(row)         [{node, added: [one per output]}, ...] what the formula for all rows gives,
 *                       then what differs at every node on the way; empty if leaves share nothing
 *   contributions(row)  [{column, value, added: [one per output]}, ...]; with the leaf's
 *                       intercept they add up to raw(row), unless that is a limit of the leaf
 */
function glassleafScorer(given) {
  "use strict";
  const NOTHING = { missing: [], slope: [], bends: [], low: null, high: null, categories: {} };
  const written = given.nodes.map(filled);
  const isShared = written[0].left !== undefined && written[0].terms !== undefined;
  const model = { ...given, nodes: isShared ? summed(written) : written };
  const UNKNOWN = -1; // code of a category that training never saw; null is missing
  const LARGEST_EXPONENT = 500;
  const nOutputs = model.link === "softmax" ? model.classes.length : 1;
  const plain = (value) => (typeof value === "boolean" ? Number(value) : value);
  const codes = model.columns.map((column) =>
    column.categories === null
      ? null
      : new Map(column.categories.map((category, code) => [plain(category), code])));
  // Codes by the number that a category is or writes, null if several write the same.
  const byNumber = model.columns.map((column) => {
    const found = new Map();
    (column.categories || []).forEach((category, code) => {
      const written = numberIn(plain(category));
      if (written !== null) found.set(written, found.has(written) ? null : code);
    });
    return found;
  });
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const isInput = (column) => !column.date || column.date.part === "days";
  // The place in a row of every column of the model: parts of a date follow its days.
  const sources = [];
  for (const column of model.columns) sources.push(sources.length ? sources[sources.length - 1] + isInput(column) : 0);
  const leftCodes = model.nodes.map((node) => new Set(node.leftCodes || []));

  /* What a term does not have is not written. */
  function filled(node) {
    return node.terms ? { ...node, terms: node.terms.map((term) => ({ ...NOTHING, ...term })) } : node;
  }

  function added(some, more) {
    if (!some || !some.length) return more;
    return more.length ? some.map((number_, k) => number_ + more[k]) : some;
  }

  /* Two terms of a column as one. */
  function together(some, more) {
    const bends = new Map(some.bends), categories = { ...some.categories };
    for (const [at, numbers] of more.bends) bends.set(at, added(bends.get(at), numbers));
    for (const code of Object.keys(more.categories)) categories[code] = added(categories[code], more.categories[code]);
    return { ...some, missing: added(some.missing, more.missing), slope: added(some.slope, more.slope),
      bends: [...bends].sort((a, b) => a[0] - b[0]), categories: categories };
  }

  /* The nodes with all that they add, where they have what they add to their parents. */
  function summed(nodes) {
    const out = nodes.slice();
    out.forEach((node) => (node.left === undefined ? [] : [node.left, node.right]).forEach((child) => {
      const terms = new Map(node.terms.map((term) => [term.column, term]));
      for (const term of out[child].terms) {
        terms.set(term.column, terms.has(term.column) ? together(terms.get(term.column), term) : term);
      }
      out[child] = { ...out[child], intercept: added(node.intercept, out[child].intercept),
        terms: [...terms.values()].sort((a, b) => a.column - b.column) };
    }));
    return out;
  }

  function isMissing(value) {
    return value === null || value === undefined || (typeof value === "number" && isNaN(value));
  }

  function number(value, column) {
    const found = plain(value);
    if (typeof found !== "number" || !isFinite(found)) {
      throw new TypeError("Column " + JSON.stringify(column.name) + " holds no finite number.");
    }
    return found;
  }

  /* The number, or the code of a special value as a text. */
  function special(value, column) {
    const code = column.special.findIndex(([own]) => own === value);
    return code < 0 ? value : String(code);
  }

  /* The number that a category is or writes, null if none. */
  function numberIn(value) {
    if (typeof value !== "string") return value;
    if (/^[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(value)) return Number(value);
    return value.toLowerCase() === "true" ? 1 : value.toLowerCase() === "false" ? 0 : null;
  }

  /* The code of a category; see categories.py for the rule. */
  function codeOf(value, j) {
    const unlike = (held) => new TypeError("Column " + JSON.stringify(model.columns[j].name)
      + " held " + held + " when the model was fitted and holds " + typeof value + " now.");
    const isText = typeof value === "string";
    const known = codes[j].get(plain(value));
    if (known !== undefined) return known;
    if (value === glassleafScorer.NEVER_SEEN) return UNKNOWN;
    const written = numberIn(plain(value));
    const holdsText = model.columns[j].categories.some((c) => typeof c === "string");
    if (written === null && codes[j].size && !holdsText) throw unlike("numbers");
    if (!isText && codes[j].size && !byNumber[j].size) throw unlike("text");
    const code = byNumber[j].get(written);
    if (code === null) throw unlike("several texts for this number");
    return code === undefined ? UNKNOWN : code;
  }

  /* Days since 1970-01-01 of a date. */
  function daysOf(value, column) {
    const name = JSON.stringify(column.date.source);
    const text = value instanceof Date ? value.toISOString().slice(0, column.date.zoned ? 24 : 23) : value;
    const found = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s?(Z|[+-]\d\d:?\d\d)?)?$/.exec(text);
    if (!found) throw new TypeError("Column " + name + " holds dates, such as 2016-03-01T14:30:00.");
    if ((found[3] !== undefined) !== column.date.zoned) {
      throw new TypeError("Column " + name + (column.date.zoned ? " needs" : " had no") + " time zones.");
    }
    const zone = (found[3] || "Z").replace(/^(...)(\d\d)$/, "$1:$2");
    const days = Date.parse(found[1] + "T" + (found[2] || "00:00") + zone) / 86400000;
    if (isNaN(days)) throw new TypeError("Column " + name + " holds dates; " + text + " is none.");
    return column.date.unit !== "day" ? days : Math.floor(days);
  }

  /* A part of a date, as a number or a name. */
  function partOf(days, part) {
    const date = new Date(Math.round(days * 86400000));
    if (part === "month") return MONTHS[date.getUTCMonth()];
    if (part === "weekday") return WEEKDAYS[date.getUTCDay()];
    return part === "hour" ? date.getUTCHours() : days;
  }

  /* What a column of the model is in a row, as it was given; of dates, their part. */
  function cell(row, j) {
    const column = model.columns[j], isArray = Array.isArray(row) || ArrayBuffer.isView(row);
    const value = isArray ? row[sources[j]] : row[column.date ? column.date.source : column.name];
    return column.date && !isMissing(value) ? partOf(daysOf(value, column), column.date.part) : value;
  }

  /* Values in the order of the columns; categories as codes. */
  function read(row) {
    const isArray = Array.isArray(row) || ArrayBuffer.isView(row), n = sources[sources.length - 1] + 1;
    if (isArray && row.length !== n) {
      throw new RangeError("A row has " + n + " values, not " + row.length + ".");
    }
    return model.columns.map((column, j) => {
      if (isInput(column) && !isArray && !Object.prototype.hasOwnProperty.call(row, column.name)) {
        throw new RangeError("The row has no value for " + JSON.stringify(column.name) + ".");
      }
      const value = cell(row, j);
      if (isMissing(value)) return null;
      return codes[j] === null ? special(number(value, column), column) : codeOf(value, j);
    });
  }

  function goesLeft(node, number_, value) {
    if (value === null) return node.missingLeft;
    if (typeof value === "string") return leftCodes[number_].has(Number(value)); // a special value
    if (codes[node.column] === null) return value <= node.threshold;
    return value === UNKNOWN ? node.unknownLeft : leftCodes[number_].has(value);
  }

  function walk(values) {
    const steps = [];
    let at = 0;
    while (model.nodes[at].left !== undefined) {
      const node = model.nodes[at];
      const left = goesLeft(node, at, values[node.column]);
      steps.push({ node: at, column: node.column, goesLeft: left });
      at = left ? node.left : node.right;
    }
    return { leaf: at, steps: steps };
  }

  /* Linear between the points, constant beyond them. */
  function interpolated(x, points) {
    if (x <= points[0][0]) return points[0][1];
    for (let i = 1; i < points.length; i++) {
      if (x < points[i][0]) {
        const [x0, z0] = points[i - 1];
        const [x1, z1] = points[i];
        return ((z1 - z0) / (x1 - x0)) * (x - x0) + z0;
      }
    }
    return points[points.length - 1][1];
  }

  /* A number within a range; an end that is null is none. */
  function within(z, low, high) {
    if (low !== null && z < low) return low;
    return high !== null && z > high ? high : z;
  }

  /* What a column's numbers are to a leaf: transformed, filled where missing, within the clamps. */
  function limited(term, value) {
    const column = model.columns[term.column];
    let z = column.fill;
    if (typeof value === "number") z = column.knots.length ? interpolated(value, column.knots) : value;
    return within(z, term.low, term.high);
  }

  /* What the bends of a term add: their numbers times how far z lies above their places. */
  function bent(term, z, k) {
    return term.bends.reduce((sum, [at, numbers]) => sum + numbers[k] * Math.max(0, z - at), 0);
  }

  /* A sum and what a term adds to it, in the order in which predict adds. */
  function plus(sum, term, value, k) {
    if (value === null && term.missing.length) sum += term.missing[k];
    if (term.slope.length) sum += term.slope[k] * limited(term, value);
    if (term.bends.length) sum += bent(term, limited(term, value), k);
    const isNumber = typeof value === "number" && codes[term.column] === null;
    const category = value === null || isNumber ? undefined : term.categories[value];
    return category === undefined ? sum : sum + category[k];
  }

  function totals(node, values) {
    return node.intercept.map((intercept, k) => {
      let sum = 0;
      for (const term of node.terms) sum = plus(sum, term, values[term.column], k);
      return sum + intercept;
    });
  }

  /* What an offset adds to every score: a number, or the logarithm of an exposure. */
  function known(offset, values) {
    const value = values[offset.column];
    if (value === null || (offset.isExposure && value <= 0)) {
      const what = offset.isExposure ? " must be a number > 0." : " must be a number.";
      throw new RangeError("Column " + JSON.stringify(model.columns[offset.column].name) + what);
    }
    return offset.isExposure ? Math.log(value) : value;
  }

  function scores(values) {
    const before = model.offsets.map((offset) => known(offset, values));
    return sums(values).map((sum) => before.reduce((total, added) => total + added, sum));
  }

  function sums(values) {
    const leaf = model.nodes[walk(values).leaf];
    return totals(leaf, values).map((sum, k) => (leaf.limits ? within(sum, ...leaf.limits[k]) : sum));
  }

  function shares(values) {
    const { leaf, steps } = walk(values);
    const way = isShared ? [...steps.map((step) => step.node), leaf] : [];
    return way.map((node) => ({ node: node, added: totals(written[node], values) }));
  }

  function finish(raw) {
    if (model.link === "identity") return raw[0];
    if (model.link === "log") return Math.exp(Math.min(raw[0], LARGEST_EXPONENT));
    if (model.link === "logit") {
      const small = Math.exp(-Math.abs(raw[0]));
      const less = small / (1 + small);
      const more = 1 / (1 + small);
      return (raw[0] >= 0) === (model.positive === 1) ? [less, more] : [more, less];
    }
    const largest = Math.max(...raw);
    const powers = raw.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  return {
    model: model,
    predict: (row) => finish(scores(read(row))),
    raw: (row) => scores(read(row)),
    leaf: (row) => walk(read(row)).leaf,
    shares: (row) => shares(read(row)),
    path: (row) => walk(read(row)).steps.map((step) => ({
      node: step.node,
      column: model.columns[step.column].name,
      value: cell(row, step.column),
      goesLeft: step.goesLeft,
    })),
    contributions: (row) => {
      const values = read(row);
      const leaf = model.nodes[walk(values).leaf];
      const parts = leaf.terms.map((term) => ({
        column: model.columns[term.column].name,
        value: cell(row, term.column),
        added: Array.from({ length: nOutputs }, (_, k) => plus(0, term, values[term.column], k)),
      }));
      return parts.concat(model.offsets.map((offset) => ({
        column: model.columns[offset.column].name,
        value: cell(row, offset.column),
        added: Array(nOutputs).fill(known(offset, values)),
      })));
    },
  };
}
/* Stands for a category that training never saw, in a row. */
glassleafScorer.NEVER_SEEN = Object.freeze({});

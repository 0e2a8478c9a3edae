/* The tree from left to right: lines in SVG, nodes as elements that can be chosen. */
const NODE = { inner: 136, leaf: 184, height: 62, down: 78, pad: 10, page: 1070 };

/* The tree of the report, with what belongs to it below; or that of a model of another length. */
function treeBoard(view, onLeaf, details) {
  const own = drawTree(view.nodes, onLeaf), note = h("p", { class: "intro", hidden: true });
  const holder = h("div", {}, own.element);
  let shown = own;
  const showStep = (step) => {
    shown = step.tree ? drawTree(step.tree, null) : own;
    holder.replaceChildren(shown.element);
    note.hidden = !step.tree;
    details.hidden = Boolean(step.tree);
    note.textContent = `This is the tree of the model with ${count(step.numbers)} numbers, as the slider asks. `
      + "Leaves are described for the model of this report only.";
  };
  return { element: h("div", {}, note, holder, details), select: own.select, showStep: showStep,
    showPath: (ids) => shown.showPath(ids) };
}

/* Without `onLeaf`, leaves lead nowhere. */
function drawTree(nodes, onLeaf) {
  const depth = Math.max(...nodes.map((node) => node.depth));
  const places = placeNodes(nodes, levelWidth(depth));
  const rows = nodes.filter((node) => node.leaf !== null).length;
  const width = depth * levelWidth(depth) + NODE.leaf + 2 * NODE.pad;
  const height = rows * NODE.down + 2 * NODE.pad;
  const lines = s("svg", { class: "edges", width: width, height: height, "aria-hidden": "true" });
  const board = h("div", { class: "tree", role: "tree", "aria-label": "Decision tree" }, lines);
  board.style.width = width + "px";
  board.style.height = height + "px";
  board.style.setProperty("--print-zoom", Math.min(1, 690 / width).toFixed(3)); // the width of a page
  const items = new Map(), edges = new Map();
  for (const node of inReadingOrder(nodes)) {
    const { x, y } = places.get(node.id);
    if (node.parent !== null) edges.set(node.id, drawEdge(lines, places.get(node.parent), { x, y }, node));
    const item = treeItem(node, onLeaf);
    item.style.left = x + "px";
    item.style.top = y + "px";
    items.set(node.id, item);
    board.append(item);
  }
  nodes.filter((node) => node.children).forEach((node) => node.children.forEach((child, k) =>
    board.append(edgeLabel(node.sides[k], places.get(node.id), places.get(child)))));
  walkByKeys(board, nodes, items);
  return { element: h("div", { class: "scroll tree-scroll" }, board),
    select: (id) => markChosen(items, id), showPath: (ids) => markPath(items, edges, ids) };
}

/* As wide as the page allows, and wide enough for an answer on the line. */
function levelWidth(depth) {
  return Math.min(Math.max((NODE.page - NODE.leaf - 2 * NODE.pad) / Math.max(depth, 1), 270), 340);
}

/* Leaves in lines, inner nodes between their children; children come after their parents. */
function placeNodes(nodes, across) {
  const places = new Map();
  const deepest = Math.max(...nodes.map((node) => node.depth));
  for (const node of [...nodes].reverse()) {
    const y = node.leaf !== null
      ? NODE.pad + (node.leaf - 1) * NODE.down
      : (places.get(node.children[0]).y + places.get(node.children[1]).y) / 2;
    const level = node.leaf !== null ? deepest : node.depth;
    places.set(node.id, { x: NODE.pad + level * across, y: y });
  }
  return places;
}

function inReadingOrder(nodes) {
  const out = [], ahead = [0];
  while (ahead.length) {
    const node = nodes[ahead.pop()];
    out.push(node);
    if (node.children) ahead.push(node.children[1], node.children[0]);
  }
  return out;
}

/* The line from the right side of a node to the left side of its child; the wider, the more rows. */
function drawEdge(lines, from, to, node) {
  const x1 = from.x + NODE.inner, y1 = from.y + NODE.height / 2, y2 = to.y + NODE.height / 2;
  const bend = x1 + 14, turn = Math.min(6, Math.abs(y2 - y1) / 2), way = Math.sign(y2 - y1);
  const edge = s("path", { class: "edge", d: `M${x1},${y1} H${bend - turn} Q${bend},${y1} ${bend},${y1 + way * turn}`
    + ` V${y2 - way * turn} Q${bend},${y2} ${bend + turn},${y2} H${to.x}` });
  edge.style.strokeWidth = (1.5 + 6 * Math.sqrt(node.share)).toFixed(2);
  lines.append(edge);
  return edge;
}

/* The answer that leads to the child, above the line to it; the question is in the box. */
function edgeLabel(parts, from, to) {
  const start = from.x + NODE.inner + 19;
  const answer = [parts[0], "", parts[2].trim()];
  const label = h("div", { class: "edge-label" }, around(answer, parts.join("")));
  label.style.left = start + "px";
  label.style.top = to.y + NODE.height / 2 - 22 + "px";
  label.style.width = to.x - start - 6 + "px";
  return label;
}

function treeItem(node, onLeaf) {
  const isLeaf = node.leaf !== null, leads = isLeaf && onLeaf;
  const lines = isLeaf
    ? [h("strong", {}, "Leaf " + node.leaf), h("span", {}, node.brief)]
    : [h("strong", {}, h("bdi", { title: node.feature }, middle(node.feature, 14)), "?"), h("span", {}, node.brief)];
  const item = h("div", { class: isLeaf ? "node leaf" : "node inner", role: "treeitem", tabindex: "-1",
    "data-node": node.id, "aria-level": node.depth + 1, "aria-expanded": isLeaf ? null : "true",
    "aria-selected": leads ? "false" : null,
    "aria-controls": leads ? "leaf-" + node.leaf : null, title: node.target,
    onclick: () => { if (leads) onLeaf(node.leaf); item.focus(); } },
  lines, h("span", { class: "quiet", title: node.rows }, node.rows), plainBar(node.share, "share"));
  return item;
}

/* One tab stop for the tree; arrows walk it, Enter or Space chooses a leaf. */
function walkByKeys(board, nodes, items) {
  items.get(0).tabIndex = 0;
  const go = (id) => {
    if (id === null || id === undefined) return;
    items.forEach((item) => { item.tabIndex = -1; });
    items.get(id).tabIndex = 0;
    items.get(id).focus();
  };
  const order = inReadingOrder(nodes).map((node) => node.id);
  board.addEventListener("focusin", (event) => {
    const item = event.target.closest(".node");
    if (item) items.forEach((other) => { other.tabIndex = other === item ? 0 : -1; });
  });
  board.addEventListener("keydown", (event) => {
    const item = event.target.closest(".node");
    if (!item) return;
    const id = Number(item.dataset.node), node = nodes[id], place = order.indexOf(id);
    const moves = {
      ArrowRight: () => go(node.children && node.children[0]), ArrowLeft: () => go(node.parent),
      ArrowDown: () => go(order[place + 1]), ArrowUp: () => go(order[place - 1]),
      Home: () => go(0), End: () => go(order[order.length - 1]),
      Enter: () => item.click(), " ": () => item.click(),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });
}

function markChosen(items, id) {
  items.forEach((item, own) => {
    if (item.hasAttribute("aria-selected")) item.setAttribute("aria-selected", String(own === id));
  });
}

function markPath(items, edges, ids) {
  items.forEach((item, id) => item.classList.toggle("on-path", ids.includes(id)));
  edges.forEach((edge, id) => {
    edge.classList.toggle("on-path", ids.includes(id));
    if (ids.includes(id)) edge.parentNode.append(edge); // drawn last, above the others
  });
}

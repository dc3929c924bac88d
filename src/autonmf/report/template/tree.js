// The tree: a row for each rank, each component below its parent.
const SVG = "http://www.w3.org/2000/svg";

function drawn(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The first and last of the columns that each component spans: those of the components of the last row below it.
function placeTree(views) {
  const children = views.map((view, row) => view.components.map((_, index) => (row + 1 < views.length
    ? views[row + 1].components.map((one, child) => [one, child]).filter(([one]) => one.parent === index).map(([, child]) => child) : [])));
  const spans = views.map((view) => view.components.map(() => null));
  let next = 0;
  const visit = (row, index) => {
    const first = next;
    for (const child of children[row][index]) visit(row + 1, child);
    if (!children[row][index].length) next += 1;
    spans[row][index] = [first, next];
  };
  views[0].components.forEach((_, index) => visit(0, index));
  return { spans, columns: next };
}

function treeViews() {
  return contents.views.filter((view) => view.rank <= contents.tree && view.components.every((one) => one.branch !== undefined));
}

function drawTree(view) {
  const views = treeViews(), section = document.getElementById("tree");
  section.hidden = views.length < 2;
  if (section.hidden) return;
  const place = document.getElementById("tree-picture"), { kind } = contents.form;
  const { spans, columns } = placeTree(views), wide = Math.max(place.clientWidth || 900, 300), left = 26, step = (wide - left - 2) / columns;
  const high = kind === "words" ? 26 : 40, svg = drawn("svg", { width: wide, height: high * views.length + 2, viewBox: `0 0 ${wide} ${high * views.length + 2}`, "font-family": getComputedStyle(document.body).fontFamily, "font-size": 12 });
  views.forEach((one, row) => {
    paint(one);
    const y = row * high + 1, own = one.rank === view.rank;
    svg.append(drawn("text", { x: left - 6, y: y + high / 2 + 4, "text-anchor": "end", fill: colour(own ? "--choice" : "--quiet"), "font-weight": own ? 700 : 400 }, String(one.rank)));
    one.components.forEach((component, index) => svg.append(node(one, component, index, left + step * spans[row][index][0], y, step * (spans[row][index][1] - spans[row][index][0]), high, own)));
  });
  place.replaceChildren(svg);
}

function node(view, component, index, x, y, width, high, own) {
  const fill = colour(component.colour), label = describeNode(view, component, index);
  const group = drawn("g", { tabindex: 0, role: "button", "aria-label": label, style: "cursor:pointer" }, drawn("title", {}, label),
    drawn("rect", { x: x + 1, y: y + 1, width: Math.max(width - 2, 1), height: high - 2, rx: 3, fill, "fill-opacity": own ? 0.5 : 0.25, stroke: fill, "stroke-width": own ? 1.5 : 0.5 }));
  group.addEventListener("click", () => showRank(view.rank));
  group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); showRank(view.rank); } });
  if (component.image && width > 14) {
    const size = Math.min(width - 4, high - 6);
    group.append(drawn("image", { href: png(component.image), x: x + (width - size) / 2, y: y + (high - size) / 2, width: size, height: size, preserveAspectRatio: "xMidYMid meet", ...(dark() ? {} : { filter: "invert(1)" }) }));
  } else if (component.curve && width > 14) {
    const heights = numbers(component.curve), inner = width - 6;
    group.append(drawn("polyline", { fill: "none", stroke: colour("--text"), "stroke-width": 1, points: heights.map((h, i) => `${(x + 3 + inner * i / (heights.length - 1 || 1)).toFixed(1)},${(y + high - 4 - (high - 8) * h).toFixed(1)}`).join(" ") }));
  } else {
    const words = component.by_specificity ? component.by_specificity.map(([name]) => name) : [], fits = Math.floor((width - 6) / 7.4);
    let text = words.length && words[0].length <= fits ? words[0] : words.length && fits >= 5 ? `${words[0].slice(0, fits - 1)}…` : String(index + 1);
    for (const word of words.slice(1, 4)) if (`${text}, ${word}`.length <= fits) text = `${text}, ${word}`;
    if (text.length * 7.4 <= width || text.length < 2) group.append(drawn("text", { x: x + width / 2, y: y + high / 2 + 4, "text-anchor": "middle", fill: colour("--text") }, text));
  }
  return group;
}

function dark() {
  return matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
}

function describeNode(view, component, index) {
  const words = component.by_specificity ? `: ${component.by_specificity.slice(0, 6).map(([name]) => name).join(", ")}` : component.peak !== undefined ? `: maximum at ${format(component.peak)}` : "";
  const from = component.parent === undefined ? "" : `; below component ${component.parent + 1} (cosine ${component.similarity.toFixed(2)})`;
  return `Rank ${view.rank}, component ${index + 1}${words}${component.fraction === undefined ? "" : `; ${percent(component.fraction)}`}${from}`;
}

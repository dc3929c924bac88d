// One card a component.
function isCurve() {
  return contents.form.kind === "spectrum" || contents.form.kind === "template";
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "style") made.style.setProperty(...value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function numbers(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const found = [];
  for (let i = 0; i < bytes.length; i += 2) found.push((bytes[i] + 256 * bytes[i + 1]) / 65535);
  return found;
}

// A component keeps the colour of the one that it is like at the model's own rank.
const ALIKE = 0.8, COLOURS = 8, DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
function paint(view) {
  const taken = new Set(view.components.filter((one) => one.likeness >= ALIKE).map((one) => one.like - 1));
  let free = 0;
  for (const one of view.components) {
    let slot = one.likeness >= ALIKE ? one.like - 1 : -1;
    if (slot < 0) {
      while (taken.has(free)) free += 1;
      slot = free;
      taken.add(slot);
    }
    one.colour = `--c${slot % COLOURS}`;
    one.dash = DASHES[Math.floor(slot / COLOURS) % DASHES.length];
  }
}

function drawCards(view) {
  const list = document.getElementById("cards");
  const form = contents.form;
  list.style.setProperty("--card", form.kind === "image" ? "8.5rem" : form.kind === "words" ? "11.5rem" : "13rem");
  list.style.setProperty("--fill", view.components.length > 3 ? "auto-fill" : "auto-fit");
  list.replaceChildren(...view.components.map((component, index) => card(view, component, index + 1)));
  document.getElementById("components-note").textContent = note(view);
  document.getElementById("maps").hidden = !form.map || !view.detail;
  document.getElementById("order").hidden = form.kind !== "words" || !view.detail;
}

function card(view, component, number) {
  const title = element("h3", {}, String(number));
  if (component.share !== undefined) title.append(element("span", {}, percent(component.share)));
  const item = element("li", { style: ["--own", `var(${component.colour})`] }, title);
  if (component.image) item.append(element("img", { class: "ink", src: png(component.image), alt: `component ${number} as an image` }));
  if (component.curve) item.append(sparkline(component.curve, contents.form.axes[view.detail], contents.form.kind === "template",
    `component ${number} over ${contents.form.axis_label}, its maximum at ${format(component.peak)}`));
  if (component.map) {
    const share = picked("maps") === "map";
    const scale = share ? `share, 0 to ${percent(component.map_top)}; mean ${percent(component.map_mean)}` : `amount, 0 to ${format(component.amounts_top)}`;
    item.append(element("img", { class: "heat", src: png(component[picked("maps")]), alt: `map of component ${number}: ${scale}` }), element("p", {}, scale));
  }
  if (component.activity) item.append(sparkline(component.activity, null, false, `weight of component ${number} along the samples`), element("p", {}, "weight along the samples"));
  const terms = component[picked("order")];
  if (terms) item.append(termList(terms));
  if (component.samples && component.samples.length) item.append(element("p", {}, `strongest in ${component.samples.join(", ")}`));
  if (view.rank !== contents.rank) item.append(element("p", {}, kinship(component)));
  return item;
}

function kinship(component) {
  if (component.likeness === undefined || component.likeness < ALIKE) return `unlike those at rank ${contents.rank}`;
  return `like ${component.like} at rank ${contents.rank} (${component.likeness.toFixed(2)})`;
}

function picked(name) {
  return document.querySelector(`input[name=${name}]:checked`).value;
}

function png(packed) {
  return `data:image/png;base64,${packed}`;
}

function termList(terms) {
  const rows = terms.map(([name, score]) => {
    const bar = element("i", { "aria-hidden": "true", style: ["width", `${(100 * score).toFixed(1)}%`] });
    return element("li", {}, bar, element("span", {}, name));
  });
  return element("ol", { class: "terms" }, ...(rows.length ? rows : [element("li", {}, "nothing")]));
}

function sparkline(packed, axis, log, label) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const heights = numbers(packed), place = (axis || heights.map((_, index) => index)).map((x) => (log ? Math.log(Math.max(x, 1e-300)) : x));
  const usable = log && axis ? place.filter((_, index) => axis[index] > 0) : place;
  const low = Math.min(...usable), high = Math.max(...usable), width = high - low || 1;
  const points = heights.map((height, index) => [100 * (place[index] - low) / width, 59 - 57 * height]).filter(([x]) => x >= 0);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  path.setAttribute("points", points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(" "));
  for (const [key, value] of Object.entries({ fill: "none", stroke: "var(--own)", "stroke-width": "1.8", "vector-effect": "non-scaling-stroke", "stroke-linejoin": "round" })) path.setAttribute(key, value);
  for (const [key, value] of Object.entries({ viewBox: "0 0 100 60", preserveAspectRatio: "none", role: "img", "aria-label": label })) svg.setAttribute(key, value);
  svg.append(path);
  return svg;
}

// What the reader should know about what is shown.
function note(view) {
  const { form } = contents;
  if (!view.detail) {
    return `The components of rank ${view.rank} are left out: the page is kept below 8 MB. In code: model.path_.at_rank(${view.rank}).`;
  }
  const said = [];
  if (form.kind === "image") said.push("Each component is an image, from zero to its maximum.");
  if (form.kind === "words") said.push("The names that stand for each component; bars compare their scores.");
  if (form.kind === "spectrum") said.push(form.map ? "Each component is a curve, relative to its maximum, and a map of where it is. Shares add up to one in each sample (abundances); amounts are in the units of the data." : "Each component is a curve, relative to its maximum.");
  if (form.kind === "template") said.push("Each component is a spectrum in decibels below its maximum, down to −60 dB, and its weight along the samples.");
  if (view.components[0].share !== undefined) said.push("Percentages are shares of the energy.");
  if (!view.polished) said.push(`As the path left them: model.at_rank(${view.rank}, X) iterates further.`);
  if (form.blocks[view.detail] > 1) said.push(`To keep the page small, ${form.blocks[view.detail]} × ${form.blocks[view.detail]} pixels are shown as one, their mean.`);
  if (form.thinned[view.detail]) said.push("To keep the page small, curves show the maxima of groups of neighbours.");
  return said.join(" ");
}

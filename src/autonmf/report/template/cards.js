// One card per component.
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

// A component has the colour of its branch of the tree, at every rank.
const ALIKE = 0.8, COLOURS = 8, DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
function paint(view) {
  view.components.forEach((one, index) => {
    const slot = one.branch === undefined ? index : one.branch;
    one.colour = slot < COLOURS ? `--c${slot}` : `hsl(${(137.5 * slot) % 360} 45% ${dark() ? 68 : 42}%)`;
    one.dash = DASHES[Math.floor(slot / COLOURS) % DASHES.length];
  });
}

function drawCards(view) {
  const list = document.getElementById("cards");
  const form = contents.form;
  list.style.setProperty("--card", form.kind === "image" ? "8.5rem" : form.kind === "words" ? "11.5rem" : "13rem");
  list.style.setProperty("--fill", view.components.length > 3 ? "auto-fill" : "auto-fit");
  list.replaceChildren(...view.components.map((component, index) => card(view, component, index + 1)));
  document.getElementById("components-note").textContent = note(view);
  document.getElementById("maps").hidden = !form.map;
  document.getElementById("order").hidden = form.kind !== "words";
}

function componentTitle(component, number) {
  return `${number}${component.known ? " known" : ""}${typeof component.known === "string" ? `: ${component.known}` : ""}`;
}

function card(view, component, number) {
  const title = element("h3", {}, componentTitle(component, number));
  if (component.fraction !== undefined) title.append(element("span", {}, percent(component.fraction)));
  const item = element("li", { style: ["--own", colour(component.colour)] }, title);
  if (component.image) item.append(element("img", { class: "grey", src: png(component.image), alt: `component ${number} as an image` }));
  if (component.curve) item.append(sparkline(component.curve, contents.form.axes[view.detail], contents.form.kind === "template",
    `component ${number} over ${contents.form.axis_label}, its maximum at ${format(component.peak)}`));
  if (component.map) {
    const share = picked("maps") === "map";
    const scale = share ? `share of signal, 0 to ${component.map_top > 0.995 ? percent(1) : percent(component.map_top)}; mean ${percent(component.map_mean)}` : `amount, 0 to ${format(component.amounts_top)}`;
    item.append(element("img", { class: "heat", src: png(component[picked("maps")]), alt: `map of component ${number}: ${scale}` }), element("p", {}, scale));
  }
  if (component.activity) item.append(sparkline(component.activity, null, false, `weight of component ${number} by sample`), element("p", {}, "weight by sample"));
  const terms = component[picked("order")];
  if (terms) item.append(termList(terms));
  if (component.samples && component.samples.length) item.append(element("p", {}, `largest weights: ${component.samples.join(", ")}`));
  const { stability } = contents;
  if (stability && view.rank === contents.rank) {
    const [low, high] = stability.interval[number - 1];
    item.append(element("p", {}, `stability ${stability.components[number - 1].toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`));
  }
  if (view.rank !== contents.rank) item.append(element("p", {}, similarity(component)));
  return item;
}

// The materials of a spectral image: spectra on one scale, maps of abundances from 0 to 1 with one colour bar.
function drawMaterials(materials) {
  const mapped = materials[0].map !== undefined, list = document.getElementById("materials-cards");
  list.style.setProperty("--card", "13rem");
  list.style.setProperty("--fill", materials.length > 3 ? "auto-fill" : "auto-fit");
  list.replaceChildren(...materials.map((material, index) => {
    const number = index + 1, mean = `mean abundance ${percent(material.mean)}`;
    const item = element("li", { style: ["--own", `var(--c${index % COLOURS})`] }, element("h3", {}, `material ${number}`),
      sparkline(material.curve, contents.form.axes.full, false, `spectrum of material ${number} over ${contents.form.axis_label}`));
    if (mapped) item.append(element("img", { class: "heat", src: png(material.map), alt: `map of the abundance of material ${number}, from 0 to 1` }));
    item.append(element("p", {}, mean));
    return item;
  }));
  document.getElementById("materials").hidden = false;
  document.getElementById("materials-scale").hidden = !mapped;
  document.getElementById("materials-note").textContent = `Each spectrum is a mixture of a few pixels, and each pixel a mixture of the ${materials.length} spectra with abundances that sum to one. `
    + "All spectra have the same scale; order and colours are not those of the components. This needs nearly pure pixels and even light. In Python: autonmf.unmix(X, init=model).";
}

function similarity(component) {
  if (component.cosine === undefined || component.cosine < ALIKE) return `no match at rank ${contents.rank}`;
  return `matches component ${component.match} at rank ${contents.rank} (cosine ${component.cosine.toFixed(2)})`;
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
  return element("ol", { class: "terms" }, ...(rows.length ? rows : [element("li", {}, "none")]));
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

// A note on what is shown.
function note(view) {
  const { form } = contents;
  const said = [];
  if (form.kind === "image") said.push("Each component is shown as an image, from zero to its maximum.");
  if (form.kind === "words") said.push("The top features of each component are listed; bars show their scores.");
  if (form.kind === "spectrum") said.push(form.map ? "Each component is shown as a curve relative to its maximum, with a map over the samples. The share of signal is the part of a sample’s fitted sum that comes from the component, not the abundance of a material; amounts are in the units of the data." : "Each component is shown as a curve relative to its maximum.");
  if (form.kind === "template") said.push("Each component is shown as a spectrum in decibels relative to its maximum, down to −60 dB, with its weight by sample.");
  if (view.components[0].fraction !== undefined) said.push(contents.loss.parts);
  if (!view.polished) said.push(`These are the solutions on the path; model.at_rank(${view.rank}, X) polishes them.`);
  if (form.blocks[view.detail] > 1) said.push(`To keep the page small, ${form.blocks[view.detail]} × ${form.blocks[view.detail]} pixels are averaged.`);
  if (form.thinned[view.detail]) said.push("To keep the page small, curves show the maxima of groups of adjacent points.");
  if (contents.left_out) said.push(`To keep the page small, it ends at rank ${contents.left_out[0]}; in Python, model.path_ has ${contents.left_out[1]}.`);
  return said.join(" ");
}

// The slider, and everything that depends on it.
const contents = JSON.parse(document.getElementById("contents").textContent);
const slider = document.getElementById("rank");
let shown = null;

// As wording.percent in Python writes it.
function percent(fraction) {
  const value = 100 * fraction, sign = "\u00a0%";
  if (value <= 0 || value >= 100) return (value <= 0 ? "0" : "100") + sign;
  if (value < 0.01) return `below 0.01${sign}`;
  if (value > 99.999) return `above 99.999${sign}`;
  const small = Math.min(value, 100 - value);
  const decimals = value >= 10 && value <= 90 ? 0 : small >= 1 ? 1 : Math.min(Math.max(-Math.floor(Math.log10(small)), 1), 3);
  return value.toFixed(decimals) + sign;
}

function format(value) {
  return value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5) ? String(Number(value.toPrecision(3))) : value.toExponential(1);
}

function show(index) {
  const view = contents.views[index];
  if (!view || shown === view) return;
  shown = view;
  slider.value = index;
  slider.setAttribute("aria-valuetext", `${view.rank} components`);
  document.getElementById("value").textContent = view.rank;
  document.getElementById("back").hidden = view.rank === contents.rank;
  document.getElementById("now").textContent = sentenceNow(view);
  document.getElementById("components-title").textContent = view.rank === 1 ? "The component" : `The ${view.rank} components`;
  document.getElementById("evidence-sentence").textContent = view.sentence;
  for (const row of document.querySelectorAll("#evidence tbody tr")) row.classList.toggle("current", Number(row.dataset.rank) === view.rank);
  paint(view);
  drawCards(view);
  drawNumbers(view);
  drawCode(view);
  drawPlots();
}

function showRank(rank) {
  show(contents.views.findIndex((view) => view.rank === rank));
}

function sentenceNow(view) {
  const one = view.rank === 1, count = one ? "One component" : `${view.rank} components`;
  const parts = [contents.loss.fit.startsWith("Unexplained") ? `${count} explain${one ? "s" : ""} ${view.explained_words} of the energy`
    : `${count} leave${one ? "s" : ""} ${view.unexplained_words} of the loss of rank one`];
  if (view.probability_words) parts.push(`· probability ${view.probability_words}`);
  if (view.rank === contents.chosen) parts.push("· chosen");
  return parts.join(" ");
}

function drawNumbers(view) {
  const energy = contents.loss.fit.startsWith("Unexplained");
  const tiles = [energy ? ["Explained", view.explained_words, ""] : ["Loss relative to rank one", view.unexplained_words, ""]];
  if (view.added_words) tiles.push([`${energy ? "Added" : "Lowered"} by component ${view.rank}`, view.added_words, ""]);
  if (view.probability_words) tiles.push(["Probability", view.probability_words, ""]);
  if (view.samples) tiles.push(["Explained, median over samples", percent(view.samples.median), `5\u00a0% of the samples: ${percent(view.samples.low)} or less`]);
  document.getElementById("fit-numbers").replaceChildren(...tiles.map(([name, value, more]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, ...(more ? [element("small", {}, more)] : [])))));
  document.getElementById("fit-worst").textContent = view.samples ? worst(view.samples.worst) : "";
  document.getElementById("fit-polish").textContent = view.polish_words ? `The components of rank ${view.rank} are polished, which lowers its loss ${view.polish_words}.` : "";
}

function worst(samples) {
  if (samples[0][1] > 0.99999) return "All samples are fitted well.";
  return `Least explained samples: ${samples.map(([name, fraction]) => `${name} (${percent(fraction)})`).join(", ")}.`;
}

function drawCode(view) {
  const own = view.rank === contents.rank;
  document.getElementById("code-now").textContent = own
    ? `model.components_    # ${view.rank} x ${contents.shape[1]}: one component per row\nmodel.transform(X)   # ${contents.shape[0]} x ${view.rank}: weights of the components in each sample`
    : `other = model.at_rank(${view.rank}, X)   # without fitting again\nother.components_, other.transform(X)`;
  document.getElementById("code-rank").textContent = `At rank ${view.rank}`;
}

function drawPlots() {
  drawSpectra(shown);
  drawStability(shown);
  drawLoadings(shown);
  drawTree(shown);
  drawShares(shown);
  drawFit(shown);
  drawEvidence(shown);
}

// After a change of the colours.
function redraw() {
  paint(shown);
  drawCards(shown);
  drawPlots();
}

let pending = 0;
function soon(index) {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(() => show(index));
}

slider.addEventListener("input", () => soon(Number(slider.value)));
document.getElementById("fewer").addEventListener("click", () => show(Number(slider.value) - 1));
document.getElementById("more").addEventListener("click", () => show(Number(slider.value) + 1));
document.getElementById("back").addEventListener("click", () => { showRank(contents.rank); slider.focus(); });
for (const button of document.querySelectorAll("[data-show]")) button.addEventListener("click", () => showRank(Number(button.dataset.show)));
for (const choice of document.querySelectorAll("fieldset input")) choice.addEventListener("change", () => drawCards(shown));
for (const button of document.querySelectorAll(".copy")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}
// Plots are resized with the elements that contain them.
const places = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.classList.contains("js-plotly-plot") && target.clientWidth > 0) Plotly.Plots.resize(target);
});
for (const chart of document.querySelectorAll(".chart")) places.observe(chart);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", () => { drawTree(shown); drawShares(shown); });
addEventListener("beforeprint", () => {
  redraw();
  for (const chart of document.querySelectorAll(".js-plotly-plot")) Plotly.relayout(chart, { width: chart.closest(".pair") ? 320 : 660 });
});
addEventListener("afterprint", () => {
  for (const chart of document.querySelectorAll(".js-plotly-plot")) Plotly.relayout(chart, { width: null, autosize: true });
  redraw();
});

addSaveButtons();
fillSamples();
fillLoadings();
const last = contents.views.length - 1, start = contents.views.findIndex((view) => view.rank === contents.rank);
const mark = document.getElementById("mark");
mark.style.left = `calc(8px + ${last > 0 ? start / last : 0} * (100% - 16px))`;
show(start);
if (contents.materials) drawMaterials(contents.materials);

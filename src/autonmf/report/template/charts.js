// The plots. Colours come from the style sheet, so that dark mode and print use the same code.
function colour(name) {
  if (!name.startsWith("--")) return name;
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function layout(height, more) {
  const axis = { gridcolor: colour("--grid"), linecolor: colour("--line"), zeroline: false, automargin: true, fixedrange: coarse };
  const base = {
    height, margin: { l: 8, r: 12, t: 8, b: 8 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--text") },
    hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"), font: { color: colour("--text") } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: colour("--text") },
    showlegend: false, dragmode: coarse ? false : "zoom", hovermode: "closest", separators: ".,",
  };
  const merged = Object.assign(base, more);
  for (const key of Object.keys(merged)) if (/^[xy]axis/.test(key)) merged[key] = Object.assign({}, axis, merged[key]);
  return merged;
}

const coarse = matchMedia("(pointer: coarse)").matches;
const CONFIG = { displaylogo: false, displayModeBar: coarse ? false : "hover", modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };

function draw(id, traces, shape, label) {
  const place = document.getElementById(id);
  place.setAttribute("aria-label", label);
  const fresh = !place.classList.contains("js-plotly-plot");
  const done = Plotly.react(place, traces, shape, CONFIG);
  if (fresh) place.on("plotly_click", (event) => {
    if (place.dataset.ranks) showRank(event.points[0].x);
    if (id === "shares") pickSample(event.points[0].customdata[1]);
  });
  return done;
}

function spans(values) {
  const positive = values.filter((value) => value > 0);
  return positive.length > 0 && Math.max(...positive) > 10 * Math.min(...positive);
}

// Ticks of a log axis: a few powers of ten.
function powers(values) {
  const positive = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(...positive))), high = Math.ceil(Math.log10(Math.max(...positive)));
  const step = Math.max(1, Math.ceil((high - low) / 4)), exponents = [];
  for (let exponent = high; exponent >= low; exponent -= step) exponents.push(exponent);
  return { tickvals: exponents.map((exponent) => 10 ** exponent), ticktext: exponents.map(power) };
}

function power(exponent) {
  if (exponent >= -3 && exponent <= 4) return String(Number((10 ** exponent).toPrecision(1)));
  return `10${String(exponent).replace(/./g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"["0123456789-".indexOf(sign)])}`;
}

function logRange(values) {
  const exponents = values.filter((value) => value > 0).map(Math.log10), low = Math.min(...exponents), high = Math.max(...exponents);
  return [low - 0.08 * (high - low), high + 0.08 * (high - low)];
}

// Bars from the level up to the values above it.
function aboveLevel(column) {
  return { type: "data", symmetric: false, array: column.values.map(() => 0), arrayminus: column.values.map((value) => Math.max(value - column.level[0], 0)),
    color: `${colour("--data")}66`, thickness: 4, width: 0 };
}

function line(rank, width) {
  return { type: "line", xref: "x", yref: "paper", x0: rank, x1: rank, y0: 0, y1: 1, layer: "below",
    line: { color: colour("--choice"), width: width || 1.5, dash: "dash" } };
}

function rankAxis(ranks, more) {
  const few = ranks.length <= 12;
  const first = ranks[0], last = ranks[ranks.length - 1];
  return Object.assign({ title: { text: "rank", standoff: 6 }, range: [first - 0.7, last + 0.7], tickformat: "d" },
    few ? { tickvals: ranks } : { nticks: 12 }, more);
}

// Evidence: one panel per column, stacked.
function drawEvidence(view) {
  const { ranks, columns, panels } = contents.evidence;
  const shown = panels.map((name) => columns.find((column) => column.name === name)).filter(Boolean);
  const gap = 0.1, high = (1 - gap * (shown.length - 1)) / shown.length;
  const shapes = contents.plausible.length < ranks.length ? contents.plausible.map((rank) => (
    { type: "rect", xref: "x", yref: "paper", x0: rank - 0.5, x1: rank + 0.5, y0: 0, y1: 1, layer: "below", line: { width: 0 }, fillcolor: colour("--pale") })) : [];
  shapes.push(line(view.rank));
  const more = { shapes, annotations: [], xaxis: rankAxis(ranks, { anchor: `y${shown.length > 1 ? shown.length : ""}` }) };
  const traces = shown.map((column, index) => {
    const name = index ? `y${index + 1}` : "y", top = 1 - index * (high + gap);
    more[index ? `yaxis${index + 1}` : "yaxis"] = {
      domain: [Math.max(top - high, 0), top], ...(column.log ? { type: "log", ...powers(column.values) } : { nticks: 5 }),
      rangemode: column.name === "probability" ? "tozero" : "normal", tickformat: column.name === "probability" ? ".0%" : "",
      ...(column.level && column.log ? { range: logRange([...column.values, column.level[0] / 2, 2 * column.level[0]]) } : {}),
    };
    more.annotations.push({ text: `<b>${column.label}</b>`, xref: "paper", yref: "paper", x: 0, y: top, xanchor: "left", yanchor: "bottom",
      showarrow: false, font: { size: 12, color: colour("--text") } });
    if (column.level) {
      more.shapes.push({ type: "line", xref: "paper", yref: name, x0: 0, x1: 1, y0: column.level[0], y1: column.level[0], line: { color: colour("--quiet"), width: 1 } });
      more.annotations.push({ text: column.level[1], xref: "paper", yref: name, x: 1, y: column.log ? Math.log10(column.level[0]) : column.level[0],
        xanchor: "right", yanchor: "bottom", showarrow: false, font: { size: 11, color: colour("--quiet") } });
    }
    const marks = ranks.map((rank) => colour(rank === view.rank ? "--choice" : "--data"));
    const common = { x: ranks, y: column.values.map((value) => (column.log && value <= 0 ? null : value)), yaxis: name, name: column.label, customdata: column.words, hovertemplate: `rank %{x}: %{customdata}<extra></extra>` };
    return column.name === "probability"
      ? Object.assign(common, { type: "bar", marker: { color: marks } })
      : Object.assign(common, { type: "scatter", mode: "lines+markers", line: { color: colour("--data"), width: 1.5 },
        marker: { opacity: 1, color: marks, size: ranks.map((rank) => (rank === view.rank ? 10 : 5)) },
        ...(column.level ? { error_y: aboveLevel(column) } : {}) });
  });
  more.margin = { l: 8, r: 12, t: 24, b: 8 };
  document.getElementById("evidence-chart").dataset.ranks = "yes";
  draw("evidence-chart", traces, layout(70 + 150 * shown.length, more), `Evidence by rank: ${shown.map((column) => column.label).join(", ")}. The values are in the table below.`);
}

// Fit: the unexplained energy by rank and by sample.
function drawFit(view) {
  const ranks = contents.views.map((one) => one.rank), left = contents.views.map((one) => one.unexplained);
  const log = spans(left), floor = 1e-9;
  const y = log ? left.map((value) => Math.max(value, floor)) : left;
  const trace = { type: "scatter", mode: "lines+markers", x: ranks, y, customdata: left.map(percent),
    line: { color: colour("--data"), width: 1.5 }, hovertemplate: "rank %{x}: %{customdata}<extra></extra>",
    marker: { opacity: 1, color: ranks.map((rank) => colour(rank === view.rank ? "--choice" : "--data")), size: ranks.map((rank) => (rank === view.rank ? 10 : 5)) } };
  document.getElementById("fit-by-sample").hidden = !view.samples; // before plots measure their places
  document.getElementById("fit-curve").dataset.ranks = "yes";
  draw("fit-curve", [trace], layout(250, { shapes: [line(view.rank)], xaxis: rankAxis(ranks), yaxis: percentAxis(log, log ? null : pad(left)) }),
    `${contents.loss.curve}; ${percent(view.unexplained)} at rank ${view.rank}.`);
  drawSamples(view);
  drawResidual(view);
}

function percentAxis(log, range) {
  return { type: log ? "log" : "linear", range, tickformat: log ? "" : ".1~%", nticks: 6,
    ...(log ? { tickvals: [1, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9], ticktext: ["100 %", "10 %", "1 %", "0.1 %", "0.01 %", "10⁻³ %", "10⁻⁴ %", "10⁻⁵ %", "10⁻⁶ %", "10⁻⁷ %"] } : {}) };
}

function pad(values) {
  const low = Math.min(...values), high = Math.max(...values), room = 0.05 * (high - low) || 0.01;
  return [Math.max(low - room, 0), high + room];
}

let sampleRange = null;
function drawSamples(view) {
  if (!view.samples) return;
  const known = contents.views.filter((one) => one.samples);
  const floor = 1e-7;
  if (!sampleRange) {
    const all = known.flatMap((one) => one.samples.quantiles).map((value) => Math.max(value, floor));
    const low = Math.min(...all), high = Math.max(...all), log = high > 30 * low;
    sampleRange = { log, range: log ? [Math.log10(low) - 0.1, Math.log10(high) + 0.1] : pad(all) };
  }
  const curve = (one, style) => {
    const q = one.samples.quantiles, x = q.map((_, index) => index / (q.length - 1));
    return Object.assign({ type: "scatter", mode: "lines", x, y: q.map((value) => Math.max(value, sampleRange.log ? floor : 0)), customdata: q.map(percent),
      hovertemplate: `rank ${one.rank}, %{x:.0%} of the samples fit worse: %{customdata} unexplained<extra></extra>` }, style);
  };
  const traces = [];
  const own = known.find((one) => one.rank === contents.rank);
  if (own && own.rank !== view.rank) traces.push(curve(own, { line: { color: colour("--quiet"), width: 1.5, dash: "dot" }, name: `rank ${own.rank}` }));
  traces.push(curve(view, { line: { color: colour("--choice"), width: 2 }, name: `rank ${view.rank}` }));
  draw("fit-samples", traces, layout(250, { showlegend: traces.length > 1, legend: { x: 1, xanchor: "right", y: 1, bgcolor: "rgba(0,0,0,0)" },
    xaxis: { title: { text: "fraction of the samples, worst first", standoff: 6 }, tickformat: ".0%", range: [0, 1] },
    yaxis: percentAxis(sampleRange.log, sampleRange.range) }), `Unexplained energy by sample at rank ${view.rank}; median ${percent(1 - view.samples.median)}.`);
}

// The residual of each sample as a map, with rows and columns counted from one.
async function drawResidual(view) {
  document.getElementById("fit-map").hidden = !view.residual;
  if (!view.residual) return;
  const image = await loadImage(png(view.residual)), canvas = document.createElement("canvas"), side = contents.form.blocks[view.detail] || 1;
  if (shown !== view) return;
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height), z = [];
  for (let row = 0; row < canvas.height; row += 1) z.push(Array.from({ length: canvas.width }, (_, column) => data[4 * (row * canvas.width + column)] / 255 * view.residual_top));
  const middle = (side + 1) / 2, centres = (count) => Array.from({ length: count }, (_, index) => middle + side * index);
  const trace = { type: "heatmap", z, x: centres(canvas.width), y: centres(canvas.height), colorscale: "Viridis", zmin: 0, zmax: view.residual_top,
    colorbar: { thickness: 12, title: { text: "norm", side: "right" } }, hovertemplate: "row %{y:.0f}, column %{x:.0f}: %{z:.3g}<extra></extra>" };
  draw("residual", [trace], layout(330, { margin: { l: 8, r: 8, t: 8, b: 8 }, xaxis: { title: { text: "column", standoff: 4 }, constrain: "domain", showgrid: false },
    yaxis: { title: { text: "row", standoff: 4 }, autorange: "reversed", scaleanchor: "x", constrain: "domain", showgrid: false } }),
    `Map of the norm of the residual at rank ${view.rank}, 0 to ${format(view.residual_top)}.`);
}

// All curves in one plot, if components are curves.
function drawSpectra(view) {
  const place = document.getElementById("spectra");
  place.hidden = !isCurve();
  if (place.hidden) return;
  const axis = contents.form.axes[view.detail], most = 12, decibels = contents.form.kind === "template";
  const traces = view.components.map((component, index) => ({
    type: "scatter", mode: "lines", name: String(index + 1), x: axis, y: numbers(component.curve).map((value) => (decibels ? 60 * value - 60 : value)),
    line: { color: colour(component.colour), width: 1.8, dash: component.dash }, visible: index < most ? true : "legendonly",
    hovertemplate: `component ${index + 1}<br>${contents.form.axis_label} %{x}<br>%{y:.2f}<extra></extra>`,
  }));
  draw("spectra", traces, layout(300, {
    showlegend: true, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", title: { text: "component " } },
    xaxis: { title: { text: plain(contents.form.axis_label), standoff: 6 }, type: decibels ? "log" : "linear" },
    yaxis: decibels ? { title: { text: "level (dB)" }, range: [-60, 2] } : { title: { text: "relative to its maximum" }, range: [0, 1.05] },
  }), `The ${view.rank} components as curves over ${contents.form.axis_label}.`);
}

// Plotly interprets some tags in text.
function plain(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

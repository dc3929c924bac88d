// The samples: the share of each component in each of them, sorted; by group; one alone.
let oneSample = 0;

function sharesOf(view) {
  if (!view.shares_ && view.shares) {
    const bytes = Uint8Array.from(atob(view.shares), (letter) => letter.charCodeAt(0)), count = contents.samples.names.length;
    view.shares_ = view.components.map((_, index) => Array.from(bytes.subarray(index * count, (index + 1) * count), (value) => value / 255));
  }
  return view.shares_;
}

// By group, then by the component with the largest share, then by that share.
function sortSamples(shares) {
  const { groups } = contents.samples, order = contents.samples.names.map((_, index) => index);
  const top = order.map((i) => shares.reduce((best, row, k) => (row[i] > shares[best][i] ? k : best), 0));
  return order.sort((a, b) => (groups ? groups[a] - groups[b] : 0) || top[a] - top[b] || shares[top[b]][b] - shares[top[a]][a] || a - b);
}

function fillSamples() {
  const select = document.getElementById("sample"), { names, groups, group_names: labels } = contents.samples;
  select.replaceChildren(...names.map((name, index) => element("option", { value: index }, groups ? `${name} (${labels[groups[index]]})` : name)));
  select.addEventListener("change", () => pickSample(Number(select.value)));
}

function pickSample(index) {
  oneSample = index;
  drawOne(shown);
}

function drawShares(view) {
  const shares = sharesOf(view), section = document.getElementById("samples");
  section.hidden = !shares;
  if (!shares) return;
  const { names, total, groups, group_names: labels, group_sizes: sizes } = contents.samples, order = sortSamples(shares);
  const some = names.length < total ? `${names.length} of ${total} samples, evenly spaced, are shown. ` : "";
  document.getElementById("samples-note").textContent = `${some}The share of signal of a component is its part of the sum of the fit of a sample; the shares of a sample sum to one. `
    + `Samples are sorted ${groups ? "by group, then " : ""}by their largest component. Click on one to see it below.`;
  const components = view.components.map((_, index) => String(index + 1)), shapes = [], annotations = [];
  const wide = document.getElementById("samples").clientWidth; // labels are left out where they do not fit
  let start = 0;
  for (let end = 1; groups && end <= order.length; end += 1) {
    if (end < order.length && groups[order[end]] === groups[order[start]]) continue;
    if (end < order.length) shapes.push({ type: "line", xref: "x", yref: "paper", x0: end - 0.5, x1: end - 0.5, y0: 0, y1: 1, line: { color: "#ffffff", width: 2 } });
    if ((end - start) / order.length * (wide - 110) > 7.5 * labels[groups[order[start]]].length) annotations.push({ text: plain(labels[groups[order[start]]]), x: (start + end - 1) / 2, xref: "x", y: 1, yref: "paper", yanchor: "bottom", showarrow: false });
    start = end;
  }
  const trace = { type: "heatmap", z: shares.map((row) => order.map((i) => row[i])), y: components, customdata: components.map(() => order.map((i) => [plain(names[i]), i])),
    colorscale: "Viridis", zmin: 0, zmax: 1, xgap: 0, ygap: 1, colorbar: { thickness: 12, tickformat: ".0%" },
    hovertemplate: "%{customdata[0]}<br>component %{y}: %{z:.0%}<extra></extra>" };
  draw("shares", [trace], layout(90 + Math.min(26 * view.rank, 620), { shapes, annotations, margin: { l: 8, r: 8, t: groups ? 24 : 8, b: 8 },
    xaxis: { title: { text: "samples", standoff: 4 }, showticklabels: false, showgrid: false, ticks: "" },
    yaxis: { title: { text: "component", standoff: 4 }, type: "category", autorange: "reversed", showgrid: false } }),
    `Share of each of the ${view.rank} components in ${names.length} samples.`);
  document.getElementById("groups-figure").hidden = !view.by_group;
  if (view.by_group) {
    const z = labels.map((_, group) => view.by_group.map((row) => row[group]));
    const mean = { type: "heatmap", z, x: components, y: labels.map((label, group) => `${plain(label)} (${sizes[group]})`), colorscale: "Viridis", zmin: 0, zmax: 1, xgap: 1, ygap: 1,
      colorbar: { thickness: 12, tickformat: ".0%" }, texttemplate: 34 * view.rank + 240 < document.getElementById("groups-figure").clientWidth ? "%{z:.0%}" : "", hovertemplate: "%{y}<br>component %{x}: %{z:.1%}<extra></extra>" };
    draw("groups", [mean], layout(80 + 26 * labels.length, { xaxis: { title: { text: "component", standoff: 4 }, type: "category", showgrid: false },
      yaxis: { type: "category", autorange: "reversed", showgrid: false } }), `Mean share of each component in each of ${labels.length} groups.`);
  }
  drawOne(view);
}

function drawOne(view) {
  const shares = sharesOf(view), name = contents.samples.names[oneSample];
  document.getElementById("sample").value = oneSample;
  const y = shares.map((row) => row[oneSample]);
  const trace = { type: "bar", x: view.components.map((_, index) => String(index + 1)), y, marker: { color: view.components.map((one) => colour(one.colour)) },
    hovertemplate: "component %{x}: %{y:.1%}<extra></extra>" };
  draw("one", [trace], layout(250, { xaxis: { title: { text: "component", standoff: 4 }, type: "category" }, yaxis: { tickformat: ".0%", range: [0, 1.02 * Math.max(...y, 0.01)] } }),
    `Share of each component in ${name}.`);
}

// How well components are found again, by rank.
function drawStability(view) {
  const found = contents.stability;
  document.getElementById("stability-figure").hidden = !found;
  if (!found) return;
  const curve = (y, name, dash) => ({ type: "scatter", mode: "lines+markers", x: found.ranks, y, name, line: { color: colour("--data"), width: 1.5, dash }, marker: { size: 5 },
    hovertemplate: `rank %{x}: %{y:.2f} (${name})<extra></extra>` });
  document.getElementById("stability").dataset.ranks = "yes";
  draw("stability", [curve(found.mean, "mean", "solid"), curve(found.lowest, "lowest", "dot")], layout(240, { shapes: [line(view.rank)], showlegend: true,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" }, xaxis: rankAxis(found.ranks), yaxis: { range: [0, 1.05], nticks: 6 } }),
    `Mean and lowest stability of the components by rank, over ${found.resamples} resamples.`);
}

// The loadings of one component with their intervals: pictures, a curve with a band, or bars with a line.
function fillLoadings() {
  const select = document.getElementById("loadings-of");
  if (!contents.stability) return;
  select.replaceChildren(...contents.stability.loadings.map((_, index) => element("option", { value: index }, String(index + 1))));
  select.addEventListener("change", () => drawLoadings(shown));
}

// Those of the component that is chosen, if components are images.
function intervalPictures() {
  const index = Number(document.getElementById("loadings-of").value), found = contents.stability.loadings[index];
  return [["lower", "lower end"], ["value", "loadings"], ["upper", "upper end"]].map(([part, name]) => ({ name, image: found[part], colour: shown.components[index].colour }));
}

function drawLoadings(view) {
  const figure = document.getElementById("loadings-figure");
  figure.hidden = !contents.stability || view.rank !== contents.rank;
  if (figure.hidden) return;
  const index = Number(document.getElementById("loadings-of").value), found = contents.stability.loadings[index];
  const { kind, axis_label: label } = contents.form, own = colour(view.components[index].colour), chart = document.getElementById("loadings");
  const marks = { image: "The pictures on the left and on the right are the ends of these intervals.", words: "The line at each bar is its interval." }[kind] || "The band shows the intervals.";
  document.getElementById("loadings-note").textContent = `In nine of ten resamples a loading lies in its interval, with components of equal norm. ${marks} `
    + "A feature whose interval begins near zero may not belong to the component; one whose loading lies outside its interval differs in other samples. Loadings are relative to the largest one.";
  chart.hidden = kind === "image";
  document.getElementById("loadings-pictures").hidden = !chart.hidden;
  const said = `Loadings of component ${index + 1} with their intervals.`;
  if (kind === "image") {
    document.getElementById("loadings-pictures").replaceChildren(...intervalPictures().map(({ name, image }) =>
      element("div", {}, element("img", { class: "grey", src: png(image), alt: `${name} of component ${index + 1}` }), element("p", {}, name))));
  } else if (kind === "words") {
    const { names, value, lower, upper } = found;
    const trace = { type: "bar", orientation: "h", x: value, y: names.map((_, place) => place), marker: { color: own, opacity: 0.45 }, customdata: names.map((name, i) => [plain(name), lower[i], upper[i]]),
      hovertemplate: "%{customdata[0]}: %{x:.2f} (%{customdata[1]:.2f} to %{customdata[2]:.2f})<extra></extra>" };
    const lines = { type: "scatter", mode: "lines", x: names.flatMap((_, i) => [lower[i], upper[i], null]), y: names.flatMap((_, i) => [i, i, null]), line: { color: own, width: 2.5 }, hoverinfo: "skip" };
    draw("loadings", [trace, lines], layout(70 + 24 * names.length, { xaxis: { title: { text: "loading", standoff: 4 }, range: [0, 1.03 * Math.max(1, ...upper)] },
      yaxis: { autorange: "reversed", showgrid: false, tickvals: names.map((_, place) => place), ticktext: names.map((name) => plain(name.length > 24 ? `${name.slice(0, 23)}…` : name)) } }), said);
  } else {
    const x = contents.form.axes.full, log = kind === "template";
    const band = { type: "scatter", mode: "lines", x: [...x, ...[...x].reverse()], y: [...found.upper, ...[...found.lower].reverse()], fill: "toself", fillcolor: own.startsWith("#") ? `${own}44` : own.replace("hsl(", "hsla(").replace(")", " 0.27)"), line: { width: 0 }, hoverinfo: "skip" };
    const curve = { type: "scatter", mode: "lines", x, y: found.value, line: { color: own, width: 1.8 }, customdata: x.map((_, i) => [found.lower[i], found.upper[i]]),
      hovertemplate: `${plain(label)} %{x}: %{y:.2f} (%{customdata[0]:.2f} to %{customdata[1]:.2f})<extra></extra>` };
    draw("loadings", [band, curve], layout(250, { xaxis: { title: { text: plain(label), standoff: 6 }, type: log ? "log" : "linear" },
      yaxis: { title: { text: "loading" }, range: [0, 1.05 * Math.max(1, ...found.upper)] } }), said);
  }
}

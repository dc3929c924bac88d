// Figures as PNG and SVG, and tables as CSV, made on the page itself.
function addSaveButtons() {
  for (const figure of document.querySelectorAll("[data-figure]")) {
    const bar = element("p", { class: "save" });
    for (const format of ["PNG", "SVG"]) {
      const button = element("button", { type: "button", "aria-label": `Save ${figure.dataset.figure} as ${format}` }, format);
      button.addEventListener("click", () => saveFigure(figure, format.toLowerCase()));
      bar.append(button);
    }
    figure.after(bar);
  }
  const tables = { evidence: evidenceTable };
  for (const name of ["W", "H"]) if (contents.tables[name]) tables[name] = () => factorTable(name);
  for (const [name, write] of Object.entries(tables).reverse()) {
    const label = name === "evidence" ? "Evidence (CSV)" : `${name} at rank ${contents.rank} (CSV)`, button = element("button", { type: "button" }, label);
    button.addEventListener("click", () => save(`${name}.csv`, new Blob([write()], { type: "text/csv" })));
    document.querySelector(".tables").append(button, " ");
  }
  const left = ["W", "H"].filter((name) => !contents.tables[name]), said = left.length < 2 ? ["Numbers have three digits."] : [];
  if (left.length) said.push(`${left.join(" and ")} ${left.length > 1 ? "are" : "is"} too large for this page: autonmf fit FILE --out FOLDER writes all.`);
  document.getElementById("tables-note").textContent = said.join(" ");
}

function loadImage(source) {
  return new Promise((done) => {
    const image = new Image();
    image.onload = () => done(image);
    image.src = source;
  });
}

function save(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function saveFigure(figure, format) {
  const name = `${figure.dataset.figure}-rank-${shown.rank}.${format}`;
  const made = figure.classList.contains("js-plotly-plot") ? await fromPlot(figure) : fromPage(figure);
  if (format === "svg") return save(name, new Blob([made.svg], { type: "image/svg+xml" }));
  const image = await loadImage(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(made.svg)}`), canvas = document.createElement("canvas");
  canvas.width = 2 * made.width;
  canvas.height = 2 * made.height;
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  context.drawImage(image, 0, 0, made.width, made.height);
  const packed = canvas.toDataURL("image/png").split(",")[1]; // at once; toBlob waits until the browser is idle
  return save(name, new Blob([Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0))], { type: "image/png" }));
}

async function fromPlot(figure) {
  const { width, height } = figure._fullLayout, shape = { ...figure.layout, paper_bgcolor: colour("--paper"), width, height };
  const url = await Plotly.toImage({ data: figure.data, layout: shape }, { format: "svg", width, height });
  return { svg: decodeURIComponent(url.slice(url.indexOf(",") + 1)), width, height };
}

// The tree, and the cards as a grid of pictures, curves and words.
function fromPage(figure) {
  const inner = figure.querySelector(":scope > svg"), font = "font-family='sans-serif' font-size='12'";
  let width, height, body;
  if (inner) {
    [width, height] = [Number(inner.getAttribute("width")), Number(inner.getAttribute("height"))];
    body = [...inner.childNodes].map(xml).join("");
  } else {
    const side = 170, gap = 14, parts = { cards: () => shown.components, "materials-cards": () => contents.materials, "loadings-pictures": intervalPictures }[figure.id](), columns = Math.min(parts.length, 6), cells = parts.map(cardCell), tall = Math.max(...cells.map((cell) => cell.height));
    [width, height] = [columns * (side + gap) + gap, Math.ceil(cells.length / columns) * (tall + gap) + gap];
    body = cells.map((cell, index) => `<g transform="translate(${gap + (index % columns) * (side + gap)},${gap + Math.floor(index / columns) * (tall + gap)})">${cell.svg}</g>`).join("");
  }
  const viridis = xml(document.getElementById("viridis"));
  const grey = `<filter id="grey"><feComponentTransfer>${["R", "G", "B"].map((c) => `<feFunc${c} type="table" tableValues="1 0"/>`).join("")}</feComponentTransfer></filter>`;
  const marked = body.replaceAll('filter="invert(1)"', 'filter="url(#grey)"');
  return { width, height, svg: `<svg xmlns="${SVG}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ${font}><defs>${viridis}${grey}</defs><rect width="100%" height="100%" fill="${colour("--paper")}"/>${marked}</svg>` };
}

function xml(part) {
  return new XMLSerializer().serializeToString(part);
}

function cardCell(component, index) {
  const side = 170, text = colour("--text"), own = colour(component.colour || `--c${index % COLOURS}`), [rows, columns] = contents.form.shape || [1, 1], high = side * rows / columns;
  let y = 16, svg = `<text y="12" fill="${text}" font-weight="bold">${plain(short(component.name || componentTitle(component, index + 1), 19))}</text>`;
  if (component.fraction !== undefined) svg += `<text x="${side}" y="12" fill="${text}" text-anchor="end">${percent(component.fraction)}</text>`;
  svg += `<rect y="${y}" width="${side}" height="3" fill="${own}"/>`;
  y += 8;
  const picture = (packed, filter) => { svg += `<image href="${png(packed)}" y="${y}" width="${side}" height="${high}" preserveAspectRatio="none" style="image-rendering:pixelated" ${filter}/>`; y += high + 8; };
  if (component.image) picture(component.image, dark() ? "" : 'filter="url(#grey)"');
  if (component.curve) {
    const heights = numbers(component.curve);
    svg += `<polyline fill="none" stroke="${own}" stroke-width="1.5" points="${heights.map((h, i) => `${(side * i / (heights.length - 1 || 1)).toFixed(1)},${(y + 80 - 78 * h).toFixed(1)}`).join(" ")}"/>`;
    y += 90;
  }
  if (component.map) picture(component[picked("maps")] || component.map, 'filter="url(#viridis)"');
  for (const [name, score] of component[picked("order")] || []) {
    svg += `<rect y="${y}" width="${(side * score).toFixed(1)}" height="15" fill="${own}" fill-opacity="0.22"/><text x="3" y="${y + 12}" fill="${text}">${plain(short(name, 26))}</text>`;
    y += 17;
  }
  return { svg, height: y };
}

function short(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function csv(rows) {
  return rows.map((row) => row.map((cell) => (/[",\n\r]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell)).join(",")).join("\n") + "\n";
}

function evidenceTable() {
  const { ranks, columns } = contents.evidence;
  return csv([["rank", ...columns.map((column) => column.name)], ...ranks.map((rank, row) => [rank, ...columns.map((column) => column.values[row] ?? "")])]);
}

function knownName(k) {
  const { known } = contents.views.find((view) => view.rank === contents.rank).components[k];
  return typeof known === "string" ? known : "";
}

// W has a row for each sample; H has one for each component, as AutoNMF.components_.
function factorTable(name) {
  const { numbers: packed, tops, names, count } = contents.tables[name], bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0)), view = new DataView(bytes.buffer);
  const rank = tops.length, value = (row, k) => Number((half(view.getUint16(2 * (row * rank + k), true)) * tops[k]).toPrecision(4));
  const labels = Array.from({ length: count }, (_, row) => (names ? names[row] : `${name === "W" ? "row" : "column"}_${row + 1}`)), components = tops.map((_, k) => knownName(k) || `component_${k + 1}`);
  return name === "W" ? csv([["", ...components], ...labels.map((label, row) => [label, ...tops.map((_, k) => value(row, k))])])
    : csv([["", ...labels], ...components.map((label, k) => [label, ...labels.map((_, row) => value(row, k))])]);
}

function half(bits) {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  return exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024);
}

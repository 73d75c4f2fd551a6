"use strict";
// The flat plots, by plotly: the view graph as a matrix, and the histograms. Drawn when they come near the screen, and
// again when light and dark change.

const QUIET = { displayModeBar: false, displaylogo: false, responsive: true };

/** Plotly reads a few tags and entities in hover texts, and takes others literally: names must hold none it reads. */
const MARKS = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const escapeText = (text) => text.replace(/[&<>]/g, (mark) => MARKS[mark]);

const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function quietLayout(extra) {
  const { fontFamily: family } = getComputedStyle(document.body);
  const [ink, panel, soft] = ["ink", "panel", "soft"].map(cssColor);
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    hoverlabel: { bgcolor: ink, bordercolor: ink, font: { color: panel, family, size: 13 }, align: "left" },
    font: { family, size: 12, color: soft },
    ...extra,
  };
}

const graph = data.graph;
const CELL_KEYS = ["i", "j", "num_pairs", "inliers", "kept", "rotation_deg", "direction_deg"];
const cells = Object.fromEntries(CELL_KEYS.map((key) => [key, decode(graph[key])]));
const KEPT_SCALE = [[0, "#c3d8fa"], [0.5, "#4b88e6"], [1, "#143a7d"]];
const DROPPED_SCALE = [[0, "#f6b0b0"], [1, "#d23b3b"]];
const MAX_SHOWN_DEG = 10;
const MODES = {
  Matches: "verified matches, with dropped pairs in red",
  Rotation: "how far each pair's rotation is from the averaged ones",
  Direction: "how far each pair's direction is from the averaged positions",
};
let graphMode = "Matches";

/** A symmetric matrix with value(cell) in the cells that `has` accepts and null elsewhere. */
function matrix(value, has = () => true) {
  const rows = Array.from({ length: graph.size }, () => Array(graph.size).fill(null));
  cells.i.forEach((i, k) => {
    if (has(k)) rows[i][cells.j[k]] = rows[cells.j[k]][i] = value(k);
  });
  return rows;
}

function rowName(row) {
  const [first, last] = [row * graph.block, Math.min((row + 1) * graph.block, summary.images.length) - 1];
  const name = (k) => escapeText(summary.images[k].name);
  return first === last ? name(first) : `${name(first)} … ${name(last)}`;
}

const degrees = (value) => (Number.isNaN(value) ? "unknown" : `${value.toFixed(value < 10 ? 2 : 0)}°`);

function cellText(k) {
  const [count, share] = [cells.num_pairs[k], cells.kept[k]];
  const fate = share === 1 ? "kept" : share === 0 ? "dropped" : `${Math.round(100 * share)}% kept`;
  return [
    rowName(cells.i[k]),
    rowName(cells.j[k]),
    count > 1 ? `${plural(count, "pair")}, ${fate}, on average:` : fate,
    `${whole(cells.inliers[k])} matches`,
    `rotation off by ${degrees(cells.rotation_deg[k])}`,
    `direction off by ${degrees(cells.direction_deg[k])}`,
  ].join("<br>");
}

const fewest = cells.inliers.reduce((a, b) => Math.min(a, b), Infinity);
const most = cells.inliers.reduce((a, b) => Math.max(a, b), 1);

let cellTexts = null; // made when the graph is first drawn

function graphTraces() {
  cellTexts ??= matrix(cellText);
  const trace = { type: "heatmap", text: cellTexts, hoverinfo: "text", hoverongaps: false, showscale: false };
  if (graphMode !== "Matches") {
    const residual = cells[graphMode === "Rotation" ? "rotation_deg" : "direction_deg"];
    return [{ ...trace, z: matrix((k) => residual[k]), colorscale: ERROR_SCALE, zmin: 0, zmax: MAX_SHOWN_DEG }];
  }
  const layer = (colorscale, has) => ({
    ...trace, colorscale, z: matrix((k) => Math.log(cells.inliers[k]), has),
    zmin: Math.log(fewest), zmax: Math.log(most),
  });
  return [layer(KEPT_SCALE, (k) => cells.kept[k] >= 0.5), layer(DROPPED_SCALE, (k) => cells.kept[k] < 0.5)];
}

function drawGraph() {
  const axis = {
    range: [-0.5, graph.size - 0.5], fixedrange: true, constrain: "domain", showticklabels: false, ticks: "",
    showgrid: false, zeroline: false, showline: true, mirror: true, linecolor: cssColor("line"),
  };
  const isEmpty = cells.i.length === 0;
  Plotly.react("graph", isEmpty ? [] : graphTraces(), quietLayout({
    margin: { l: 1, r: 1, t: 1, b: 1 },
    xaxis: axis,
    yaxis: { ...axis, range: [graph.size - 0.5, -0.5], scaleanchor: "x" },
  }), QUIET);
  const rows = graph.block > 1 ? `${graph.block} images` : "image";
  const start = graph.start === "spanning_tree" ? "a spanning tree" : "the network's poses";
  byId("graph-note").textContent =
    `A row and a column per ${rows}, in the order of their names: ${MODES[graphMode]}. ` +
    `${whole(graph.num_edges_kept)} of ${plural(graph.num_edges, "pair")} kept; averaging began at ${start}.` +
    componentWords();
  const key = graphMode === "Matches" ? colorKey(KEPT_SCALE, whole(fewest), `${whole(most)} matches`)
    : colorKey(ERROR_SCALE, "0°", `${MAX_SHOWN_DEG}° and more`);
  byId("graph-key").replaceChildren(...(isEmpty ? [] : key));
}

const colorName = (group) => (group === "dropped" ? "bad" : "accent");
const withUnit = (words, unit) => (unit === "°" ? `${words}°` : `${words} ${unit}`);

function shortNumber(value) {
  if (value >= 100) return whole(value);
  return String(Number(value.toPrecision(value >= 10 ? 3 : 2)));
}

/** The box of one histogram, with its title, median and legend; returns the place of the plot. */
function addHistogram({ title, unit, median, counts, before }) {
  const earlier = before ? ` (${withUnit(shortNumber(before.median), unit)} before averaging)` : "";
  const middle = median === null ? "Nothing to count" : `Median ${withUnit(shortNumber(median), unit)}${earlier}`;
  const sub = make("div", { class: "sub" }, middle);
  const groups = Object.entries(counts);
  const legend = groups.length > 1 ? groups.map(([group, values]) => {
    const swatch = make("i");
    swatch.style.background = `var(--${colorName(group)})`;
    return make("span", {}, swatch, `${whole(values.reduce((a, b) => a + b, 0))} ${group}`);
  }) : [];
  if (before) legend.push(make("span", {}, make("i", { class: "outline" }), "before averaging"));
  if (legend.length) sub.append(make("div", { class: "legend" }, ...legend));
  const plot = make("div", { class: "plot" });
  byId("charts").append(make("div", { class: "chart" }, make("h2", {}, title), sub, plot));
  return plot;
}

// Which parts the view graph falls into, where it is not one piece.
function componentWords() {
  const { component_sizes: sizes, num_isolated_images: alone } = graph;
  if (sizes.length <= 1 && alone === 0) return "";
  return ` Connected parts: ${sizes.map(whole).join(", ")} images` +
    `${alone ? `, and ${plural(alone, "image")} without any match that is trusted` : ""}.`;
}

/** The values of bin k in words. */
function binWords({ edges, unit, has_more: hasMore }, k) {
  const [lower, upper] = [edges[k], edges[k + 1]];
  const isWhole = unit === "images";
  const first = shortNumber(isWhole ? lower + 0.5 : lower);
  if (hasMore && k === edges.length - 2) return withUnit(`${first} and more`, unit);
  const last = shortNumber(isWhole ? upper - 0.5 : upper);
  return withUnit(first === last ? first : `${first} – ${last}`, unit);
}

/** The next of 1, 2, 5, 10, 20, 50, ... */
function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, step)));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= step);
}

/** The counts before averaging as a stepped line over the bars. */
function outline({ edges, before }, at) {
  const y = [...before.counts, before.counts[before.counts.length - 1]];
  return {
    type: "scatter", mode: "lines", hoverinfo: "skip", x: at.slice(0, edges.length), y,
    line: { shape: "hv", width: 1.5, color: cssColor("soft") },
  };
}

function drawHistogram(plot, histogram) {
  const { edges, counts, is_log: isLog, median, unit, before } = histogram;
  const place = (value) => (isLog ? Math.log10(Math.max(value, edges[0])) : value);
  const at = edges.map(place);
  const traces = Object.entries(counts).map(([group, values]) => ({
    type: "bar", hoverinfo: "text", textposition: "none", y: values,
    x: values.map((_, k) => (at[k] + at[k + 1]) / 2),
    width: values.map((_, k) => at[k + 1] - at[k]),
    text: values.map((count, k) => `${binWords(histogram, k)}<br>${whole(count)} ${group}`),
    marker: { color: cssColor(colorName(group)), line: { width: 0.7, color: cssColor("panel") } },
  }));
  if (before) traces.push(outline(histogram, at));
  const bars = Object.values(counts);
  const totals = edges.slice(1).map((_, k) => bars.reduce((sum, values) => sum + values[k], 0));
  const powers = { tickvals: [-2, -1, 0, 1, 2], ticktext: ["0.01°", "0.1°", "1°", "10°", "100°"] };
  const steps = { tick0: 0, dtick: roundStep((at[at.length - 1] - at[0]) / 7) };
  const line = { color: cssColor("ink"), width: 1, dash: "dot" };
  const middle = { type: "line", yref: "paper", y0: 0, y1: 1, x0: place(median), x1: place(median), line };
  Plotly.react(plot, traces, quietLayout({
    barmode: "stack", bargap: 0, margin: { l: 34, r: 10, t: 10, b: 40 },
    shapes: median === null ? [] : [middle],
    xaxis: {
      ...(isLog ? powers : unit === "images" ? steps : { nticks: 7 }),
      range: [at[0], at[at.length - 1]], fixedrange: true, showgrid: false, zeroline: false, showline: true, linecolor: cssColor("line"),
      title: { text: unit === "°" ? "" : unit, standoff: 4, font: { size: 12 } },
    },
    yaxis: {
      fixedrange: true, zeroline: false, gridcolor: cssColor("line"), rangemode: "tozero",
      tick0: 0, dtick: roundStep(Math.max(...totals, ...(before ? before.counts : [])) / 4), tickformat: "~s",
    },
  }), QUIET);
}

// What draws each plot. Those below the screen wait until the reader comes near them.
const drawers = new Map([[byId("graph"), drawGraph]]);
for (const histogram of data.histograms) {
  const plot = addHistogram(histogram);
  drawers.set(plot, () => drawHistogram(plot, histogram));
}
const drawn = new Set();

/** Plotly's script lies in the page as mere text: reading it takes longer than drawing the 3D view. */
function runPlotly() {
  const text = byId("plotly");
  if (text) text.replaceWith(make("script", {}, text.textContent));
}

function draw(plot) {
  runPlotly();
  drawn.add(plot);
  drawers.get(plot)();
}

function drawWhatComesNear() {
  const watcher = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (isIntersecting && !drawn.has(target)) draw(target);
    }
  }, { rootMargin: "50%" });
  for (const plot of drawers.keys()) watcher.observe(plot);
}

offerChoices("graph-mode", Object.keys(MODES), (mode) => {
  graphMode = mode;
  draw(byId("graph"));
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(draw));
window.addEventListener("beforeprint", () => [...drawers.keys()].filter((plot) => !drawn.has(plot)).forEach(draw));
sceneIsDone.finally(drawWhatComesNear);

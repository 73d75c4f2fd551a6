"use strict";
// The 3D view: points in their colours, and a frustum per camera coloured by the mean error of its image.

const scene = data.scene;
const NEUTRAL = "#a9b6c8";
const errorOf = (camera) => summary.images[scene.frusta_row[camera]].mean_error_px;
const pointSize = () => Number(byId("point-size").value);

const NUM_FIRST = 10000;
// Of so many points one is drawn: a first few are soon there, all of them when the page has been opened.
let stride = Math.max(1, Math.floor(scene.num_drawn / NUM_FIRST));
let isColoredByError = false;

function ofShownPoints(value) {
  return Array.from({ length: Math.ceil(scene.num_drawn / stride) }, (_, k) => value(k * stride));
}

function pointAxes() {
  const xyz = decode(scene.points);
  const [x, y, z] = [0, 1, 2].map((axis) => ofShownPoints((point) => xyz[3 * point + axis]));
  return { x, y, z };
}

/** The points' errors, or their colours in the photos, or one colour for all where there were no photos. */
function pointColors() {
  if (isColoredByError) {
    const steps = decode(scene.errors);
    return ofShownPoints((point) => steps[point] * scene.error_step_px);
  }
  if (!scene.colors) return NEUTRAL;
  const rgb = decode(scene.colors);
  return ofShownPoints((point) => `rgb(${rgb.subarray(3 * point, 3 * point + 3).join()})`);
}

function pointTrace(limit) {
  return {
    type: "scatter3d", mode: "markers", hoverinfo: "skip", ...pointAxes(),
    marker: {
      // Plotly draws each mark as triangles: a square has two, a disc dozens.
      symbol: "square", size: pointSize(), color: pointColors(), line: { width: 0 }, opacity: 1,
      colorscale: ERROR_SCALE, cmin: 0, cmax: limit,
    },
  };
}

function drawAllPoints() {
  if (stride === 1) return;
  stride = 1;
  const axes = Object.entries(pointAxes()).map(([name, values]) => [name, [values]]);
  Plotly.restyle("view3d", { ...Object.fromEntries(axes), "marker.color": [pointColors()] }, [0]);
}

// Apex 0 and corners 1..4: two strokes draw all eight edges of a frustum; null lifts the pen.
const STROKES = [1, 2, 3, 4, 1, 0, 2, null, 3, 0, 4, null];

/** Frusta and apex markers of the given cameras: by their errors up to `limit`, or neutral where there are none. */
function cameraTraces(cameras, corners, limit) {
  const corner = (camera, k, axis) => (k === null ? null : corners[15 * camera + 3 * k + axis]);
  const path = (strokes, axis) => cameras.flatMap((camera) => strokes.map((k) => corner(camera, k, axis)));
  const axes = (strokes) => ({ x: path(strokes, 0), y: path(strokes, 1), z: path(strokes, 2) });
  const errors = cameras.map(errorOf);
  const paint = (repeat) => (errors.includes(null) ? { color: NEUTRAL } : {
    color: errors.flatMap((error) => Array(repeat).fill(error)), colorscale: ERROR_SCALE, cmin: 0, cmax: limit,
  });
  const text = cameras.map((camera, k) => {
    const quality = errors[k] === null ? "no points" : `mean error ${fixed(errors[k])} px`;
    return `${escapeText(summary.images[scene.frusta_row[camera]].name)}<br>${quality}`;
  });
  return [
    {
      type: "scatter3d", mode: "lines", hoverinfo: "text", connectgaps: false, ...axes(STROKES),
      text: text.flatMap((words) => Array(STROKES.length).fill(words)),
      line: { width: 2, ...paint(STROKES.length) },
    },
    {
      type: "scatter3d", mode: "markers", hoverinfo: "text", text, ...axes([0]),
      marker: { size: 3.5, line: { width: 0 }, opacity: 1, ...paint(1) },
    },
  ];
}

/** The colour scale ends at two pixels, or beyond where errors are larger, so that a good model looks calm. */
function errorLimit() {
  const errors = scene.frusta_row.map((_, camera) => errorOf(camera)).filter((error) => error !== null);
  return Math.max(2, errors.sort((a, b) => a - b)[Math.floor(0.95 * errors.length)] || 0);
}

/** From behind the cameras, a little to the side and from above, where most cameras and points just fit. */
function startCamera() {
  const [side, height] = [-0.5, 0.45];
  const right = [Math.cos(side), Math.sin(side), 0];
  const above = [-Math.sin(height) * Math.sin(side), Math.sin(height) * Math.cos(side), Math.cos(height)];
  const back = [Math.cos(height) * Math.sin(side), -Math.cos(height) * Math.cos(side), Math.sin(height)];
  const along = (axis, point) => axis[0] * point[0] + axis[1] * point[1] + axis[2] * point[2];
  const turn = (point) => [right, above, back].map((axis) => along(axis, point));
  const points = triples(scene.points, 1000).map(turn);
  const isCentral = (_, k) => scene.frusta_is_central[Math.floor(k / 5)];
  const corners = triples(scene.frusta, Infinity).filter(isCentral).map(turn);
  // A point is seen from distance d, looking at m, when |x - m| <= slope * (d - depth): linear in d and m.
  const fit = (k, slope) => {
    const reach = (sign) => (point) => point[k] + sign * slope * point[2];
    const upper = span(points.map(reach(1)), corners.map(reach(1)))[1];
    const lower = span(points.map(reach(-1)), corners.map(reach(-1)))[0];
    return { middle: (upper + lower) / 2, distance: (upper - lower) / (2 * slope) };
  };
  // Plotly looks through an angle of 45 degrees from top to bottom; a little is left free at the rim.
  const slope = 0.88 * Math.tan(Math.PI / 8);
  const slopes = [(slope * byId("view3d").clientWidth) / byId("view3d").clientHeight, slope];
  const distance = Math.max(...slopes.map((reach, k) => fit(k, reach).distance));
  const isFit = (k) => (reach) => fit(k, reach).distance <= distance;
  const [across, upward] = slopes.map((reach, k) => fit(k, tightest(reach, isFit(k))).middle);
  const center = (k) => across * right[k] + upward * above[k];
  const vector = (value) => ({ x: value(0), y: value(1), z: value(2) });
  return { up: { x: 0, y: 0, z: 1 }, center: vector(center), eye: vector((k) => center(k) + distance * back[k]) };
}

/** About the smallest slope up to `slope` that still fits: seen through it, what is in view lies in the middle. */
function tightest(slope, isFit) {
  let [tooSmall, enough] = [0, slope];
  for (let step = 0; step < 10; step += 1) {
    const between = (tooSmall + enough) / 2;
    if (isFit(between)) enough = between;
    else tooSmall = between;
  }
  return enough;
}

/** About `most` points of an array in plotly's units, in which the box's longest side is 1 and its middle 0. */
function triples(array, most) {
  const values = decode(array);
  const longest = Math.max(...scene.box.map(([lower, upper]) => upper - lower));
  const unit = (k, axis) => (values[3 * k + axis] - (scene.box[axis][0] + scene.box[axis][1]) / 2) / longest;
  const step = Math.max(1, Math.floor(values.length / 3 / most));
  const length = Math.floor(values.length / 3 / step);
  return Array.from({ length }, (_, k) => [0, 1, 2].map((axis) => unit(k * step, axis)));
}

/** Smallest and largest value: of `complete` all count, of `trimmed` all but the outermost. */
function span(trimmed, complete) {
  const cut = Math.floor(0.01 * trimmed.length);
  const inner = trimmed.sort((a, b) => a - b).slice(cut, trimmed.length - cut);
  const values = inner.concat(complete).sort((a, b) => a - b);
  return values.length ? [values[0], values[values.length - 1]] : [-1, 1];
}

function drawScene() {
  const limit = errorLimit();
  const corners = decode(scene.frusta);
  const all = scene.frusta_row.map((_, camera) => camera);
  const hasError = (camera) => errorOf(camera) !== null;
  const groups = [all.filter(hasError), all.filter((camera) => !hasError(camera))];
  const traces = groups.filter((group) => group.length).flatMap((group) => cameraTraces(group, corners, limit));
  const extent = scene.box.map(([lower, upper]) => upper - lower);
  const [x, y, z] = extent.map((length) => length / Math.max(...extent));
  const camera = startCamera();
  const axis = (k) => ({ visible: false, range: scene.box[k], autorange: false, showspikes: false });
  const plotted = Plotly.newPlot("view3d", [pointTrace(limit), ...traces], quietLayout({
    margin: { l: 0, r: 0, t: 0, b: 0 },
    hoverlabel: hoverLabel("#f3f5f8", "#171c26"),
    scene: {
      camera, dragmode: "turntable", aspectmode: "manual", aspectratio: { x, y, z },
      xaxis: axis(0), yaxis: axis(1), zaxis: axis(2),
    },
    // As many pixels as the screen has; plotly would draw four times as many, which is slow without a graphics card.
  }), { ...QUIET, scrollZoom: true, plotGlPixelRatio: Math.min(window.devicePixelRatio, 2) });
  listen(camera, traces.map((_, k) => k + 1));
  describeScene(limit, groups[0].length);
  return plotted;
}

function listen(camera, cameraTraceIdx) {
  const restyle = (change, traceIdx) => traceIdx.length && Plotly.restyle("view3d", change, traceIdx);
  byId("show-points").addEventListener("change", (event) => restyle({ visible: event.target.checked }, [0]));
  byId("show-cameras").addEventListener(
    "change", (event) => restyle({ visible: event.target.checked }, cameraTraceIdx));
  byId("point-size").addEventListener("change", () => restyle({ "marker.size": pointSize() }, [0]));
  offerChoices("point-color", ["Colour", "Error"], (choice) => {
    isColoredByError = choice === "Error";
    restyle({ "marker.color": [pointColors()] }, [0]);
  });
  byId("reset-view").addEventListener("click", () => Plotly.relayout("view3d", { "scene.camera": camera }));
}

function describeScene(limit, numWithError) {
  const { num_far_points: farPoints, num_far_cameras: farCameras } = scene;
  const far = [farPoints && plural(farPoints, "point"), farCameras && plural(farCameras, "camera")].filter(Boolean);
  const rest = far.length ? `; ${far.join(" and ")} far away left out` : "";
  byId("scene-note").textContent =
    `${whole(scene.num_drawn)} of ${plural(summary.num_points, "point")} drawn${rest}. ` +
    "Drag to turn, scroll to zoom, hover over a camera for its name.";
  if (!numWithError) return;
  byId("scene-key").append(...colorKey(ERROR_SCALE, "Mean error: 0", `${fixed(limit, 1)} px`));
}

const nextFrame = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
// After the next frame, so that the words can be read while the view is being drawn.
const sceneIsDone = nextFrame().then(drawScene).then(nextFrame);
sceneIsDone.then(() => performance.mark("3D view drawn"));
sceneIsDone.then(() => setTimeout(drawAllPoints, 100));

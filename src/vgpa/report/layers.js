"use strict";
// What the 3D view draws: points in their colours, and a frustum per camera coloured by the mean error of its image.

const scene = data.scene;
const NEUTRAL = [169, 182, 200];
const NUM_STEPS = 65535; // of a point's coordinate from one side of the box to the other
const EDGES = [0, 1, 0, 2, 0, 3, 0, 4, 1, 2, 2, 3, 3, 4, 4, 1]; // pairs of corners; the apex is 0

const extent = scene.box.map(([lower, upper]) => upper - lower);
const longest = Math.max(...extent);
const errorOf = (camera) => summary.images[scene.frusta_row[camera]].mean_error_px;
const triple = (values, k) => [values[3 * k], values[3 * k + 1], values[3 * k + 2]];

/** Points and corners in the eye's units: the box's longest side is 1, its middle 0. */
const positions = {
  points: Float32Array.from(decode(scene.points), (step, k) => ((step / NUM_STEPS - 0.5) * extent[k % 3]) / longest),
  corners: Float32Array.from(decode(scene.frusta), (value, k) => (
    (value - (scene.box[k % 3][0] + scene.box[k % 3][1]) / 2) / longest)),
};

/** The colour scale ends at two pixels, or beyond where errors are larger, so that a good model looks calm. */
function errorLimit() {
  const errors = scene.frusta_row.map((_, camera) => errorOf(camera)).filter((error) => error !== null);
  return Math.max(2, errors.sort((a, b) => a - b)[Math.floor(0.95 * errors.length)] || 0);
}

/** Three bytes for each of `count` vertices. */
function colorBytes(count, colorOf) {
  const bytes = new Uint8Array(3 * count);
  for (let k = 0; k < count; k += 1) bytes.set(colorOf(k), 3 * k);
  return bytes;
}

/** The points' errors, or their colours in the photos, or one colour for all where there were no photos. */
function pointColors(isByError, limit) {
  if (isByError) {
    const steps = decode(scene.errors);
    const colors = Array.from({ length: 256 }, (_, step) => rgbOn(ERROR_SCALE, (step * scene.error_step_px) / limit));
    return colorBytes(scene.num_drawn, (point) => colors[steps[point]]);
  }
  return scene.colors ? decode(scene.colors) : colorBytes(scene.num_drawn, () => NEUTRAL);
}

/** Everything that is drawn, on the graphics card. */
function createLayers(renderer, limit, isByError) {
  const { points, corners } = positions;
  const numCameras = scene.frusta_row.length;
  const colors = scene.frusta_row.map((_, camera) => {
    const error = errorOf(camera);
    return error === null ? NEUTRAL : rgbOn(ERROR_SCALE, error / limit);
  });
  const gathered = (perCamera) => Float32Array.from({ length: 3 * perCamera.length * numCameras }, (_, k) => {
    const vertex = Math.floor(k / 3);
    const camera = Math.floor(vertex / perCamera.length);
    return corners[15 * camera + 3 * perCamera[vertex % perCamera.length] + (k % 3)];
  });
  return {
    points: renderer.layer(points, pointColors(isByError, limit)),
    frusta: renderer.layer(gathered(EDGES), colorBytes(EDGES.length * numCameras, (k) => (
      colors[Math.floor(k / EDGES.length)]))),
    apexes: renderer.layer(gathered([0]), colorBytes(numCameras, (k) => colors[k])),
  };
}

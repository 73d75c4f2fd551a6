"use strict";
// Where the 3D view is looked at from: an eye {side, height, center, distance} that circles a centre, with z up. Angles
// are in radians, lengths in units of the longest side of the scene's box. All functions here are pure.

const HALF_FIELD = Math.tan(Math.PI / 8); // 45 degrees from the top of the view to its bottom
const [STEEPEST, NEAREST, FARTHEST] = [1.55, 0.005, 20];

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** The eye's own axes in the scene: to the right, upwards, and back towards the reader. */
function axesOf({ side, height }) {
  const [sinS, cosS, sinH, cosH] = [Math.sin(side), Math.cos(side), Math.sin(height), Math.cos(height)];
  return [[cosS, sinS, 0], [-sinH * sinS, sinH * cosS, cosH], [cosH * sinS, -cosH * cosS, sinH]];
}

/** 4 x 4 projection, column by column as WebGL wants it, for a view that is `aspect` times as wide as high. */
function clipFromScene(eye, aspect) {
  const [right, above, back] = axesOf(eye);
  const [near, far] = [0.02 * eye.distance, eye.distance + 10];
  const row = (axis, scale) => [...axis.map((value) => scale * value), -scale * dot(axis, eye.center)];
  const w = row(back, -1);
  w[3] += eye.distance;
  const z = w.map((value) => (value * (far + near)) / (far - near));
  z[3] -= (2 * far * near) / (far - near);
  const rows = [row(right, 1 / (aspect * HALF_FIELD)), row(above, 1 / HALF_FIELD), z, w];
  return Float32Array.from({ length: 16 }, (_, k) => rows[k % 4][Math.floor(k / 4)]);
}

const turned = (eye, across, upward) => ({
  ...eye, side: eye.side - across, height: clamp(eye.height - upward, -STEEPEST, STEEPEST),
});

/** The scene follows the hand by so many halves of the view's height. */
function panned(eye, across, upward) {
  const [right, above] = axesOf(eye);
  const reach = eye.distance * HALF_FIELD;
  const center = eye.center.map((value, k) => value - reach * (across * right[k] + upward * above[k]));
  return { ...eye, center };
}

/** Nearer by a factor below 1; what is at this place of the view (in halves of its height) stays there. */
function zoomed(eye, factor, [across, upward]) {
  const distance = clamp(factor * eye.distance, NEAREST, FARTHEST);
  const rest = distance / eye.distance - 1;
  return { ...panned(eye, rest * across, rest * upward), distance };
}

/** From behind the cameras, a little to the side and from above, where these corners and most of these points fit. */
function startEye(points, corners, aspect) {
  const angles = { side: -0.5, height: 0.45 };
  const axes = axesOf(angles);
  const turn = (point) => axes.map((axis) => dot(axis, point));
  const [pointsSeen, cornersSeen] = [points.map(turn), corners.map(turn)];
  // A point is seen from distance d, looking at m, when |x - m| <= slope * (d - depth): linear in d and m.
  const fit = (k, slope) => {
    const reach = (sign) => (point) => point[k] + sign * slope * point[2];
    const upper = span(pointsSeen.map(reach(1)), cornersSeen.map(reach(1)))[1];
    const lower = span(pointsSeen.map(reach(-1)), cornersSeen.map(reach(-1)))[0];
    return { middle: (upper + lower) / 2, distance: (upper - lower) / (2 * slope) };
  };
  const slope = 0.88 * HALF_FIELD; // a little is left free at the rim
  const slopes = [slope * aspect, slope];
  // What lies straight before the eye fits from anywhere, but must not touch it.
  const [, nearest] = span(pointsSeen.map((point) => point[2]), cornersSeen.map((point) => point[2]));
  const distance = Math.max(nearest + 0.1, ...slopes.map((reach, k) => fit(k, reach).distance));
  const isFit = (k) => (reach) => fit(k, reach).distance <= distance;
  const [across, upward] = slopes.map((reach, k) => fit(k, tightest(reach, isFit(k))).middle);
  // Turning and zooming are about the middle of what is seen, not of the box.
  const depths = (pointsSeen.length ? pointsSeen : cornersSeen).map((point) => point[2]);
  const depth = depths.reduce((sum, value) => sum + value, 0) / Math.max(depths.length, 1);
  const center = [0, 1, 2].map((k) => across * axes[0][k] + upward * axes[1][k] + depth * axes[2][k]);
  return { ...angles, center, distance: clamp(distance - depth, NEAREST, FARTHEST) };
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

/** Smallest and largest value: of `complete` all count, of `trimmed` all but the outermost. */
function span(trimmed, complete) {
  const cut = Math.floor(0.01 * trimmed.length);
  const inner = trimmed.sort((a, b) => a - b).slice(cut, trimmed.length - cut);
  const values = inner.concat(complete).sort((a, b) => a - b);
  return values.length ? [values[0], values[values.length - 1]] : [-1, 1];
}

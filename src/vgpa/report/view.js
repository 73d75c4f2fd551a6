"use strict";
// The 3D view as a reader has it: an eye, layers, and a canvas on which a frame is drawn only when something changed.

const HIGHLIGHT = [1, 1, 1];
const [EDGE_PX, APEX_PX, REACH_PX] = [2, 6, 12];

class View {
  /** The renderer draws on this canvas; `show` says at each frame what to draw: {points, cameras, pointSize}. */
  constructor(canvas, renderer, show) {
    Object.assign(this, { canvas, show, limit: errorLimit(), isByError: false, hovered: null, isWaiting: false });
    this.prepare(renderer);
    this.fitCanvas();
    this.reset();
  }

  /** Bring everything onto the graphics card: at the start, and when the card has lost it. */
  prepare(renderer) {
    this.renderer = renderer;
    this.layers = createLayers(renderer, this.limit, this.isByError);
  }

  get clipFromScene() {
    return clipFromScene(this.eye, this.canvas.width / this.canvas.height);
  }

  /** Look from where most of the scene is seen. */
  reset() {
    const step = Math.max(1, Math.floor(scene.num_drawn / 1000));
    const num = Math.floor(scene.num_drawn / step);
    const points = Array.from({ length: num }, (_, k) => triple(positions.points, k * step));
    const corners = scene.frusta_is_central.flatMap((isCentral, camera) => (
      isCentral ? [0, 1, 2, 3, 4].map((k) => triple(positions.corners, 5 * camera + k)) : []));
    this.eye = startEye(points, corners, this.canvas.width / this.canvas.height);
  }

  /** Give the canvas as many pixels as the screen has, up to two a length; says whether that was a change. */
  fitCanvas() {
    const { canvas } = this;
    this.ratio = Math.min(window.devicePixelRatio, 2);
    const inPixels = (length) => Math.max(1, Math.round(length * this.ratio));
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map(inPixels);
    if (canvas.width === width && canvas.height === height) return false;
    Object.assign(canvas, { width, height });
    return true;
  }

  draw() {
    const { renderer, layers, ratio, hovered } = this;
    const { points, cameras, pointSize } = this.show();
    renderer.begin(this.clipFromScene);
    if (points) renderer.squares(layers.points, 2 * pointSize * ratio);
    if (!cameras) return;
    renderer.lines(layers.frusta, EDGE_PX * ratio);
    renderer.discs(layers.apexes, APEX_PX * ratio);
    if (hovered === null) return;
    const paint = HIGHLIGHT;
    renderer.lines(layers.frusta, 1.3 * EDGE_PX * ratio, { paint, first: EDGES.length * hovered, count: EDGES.length });
    renderer.discs(layers.apexes, 1.3 * APEX_PX * ratio, { paint, first: hovered, count: 1 });
  }

  /** Draw in the next frame, once, however often this is asked. */
  redraw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  /** Where each camera's five corners are, in CSS pixels from the canvas's corner; null for those behind the eye. */
  cornersOnScreen() {
    const m = this.clipFromScene;
    const { clientWidth, clientHeight } = this.canvas;
    const along = (row, [x, y, z]) => m[row] * x + m[4 + row] * y + m[8 + row] * z + m[12 + row];
    const place = (point) => {
      const w = along(3, point);
      if (w <= 0) return null;
      return [(0.5 + along(0, point) / w / 2) * clientWidth, (0.5 - along(1, point) / w / 2) * clientHeight];
    };
    return scene.frusta_row.map((_, camera) => (
      [0, 1, 2, 3, 4].map((k) => place(triple(positions.corners, 5 * camera + k)))));
  }

  /** The camera whose drawing is nearest to a place in CSS pixels; null where none is near. */
  cameraAt(spot) {
    let [nearest, best] = [null, REACH_PX];
    if (!this.show().cameras) return nearest;
    this.cornersOnScreen().forEach((corners, camera) => {
      if (corners.includes(null)) return;
      for (let k = 0; k < EDGES.length; k += 2) {
        const distance = distanceToEdge(spot, corners[EDGES[k]], corners[EDGES[k + 1]]);
        if (distance < best) [nearest, best] = [camera, distance];
      }
    });
    return nearest;
  }
}

/** Distance of a place from the straight line between two others. */
function distanceToEdge([x, y], [startX, startY], [endX, endY]) {
  const [alongX, alongY] = [endX - startX, endY - startY];
  const square = alongX ** 2 + alongY ** 2;
  const share = square ? clamp(((x - startX) * alongX + (y - startY) * alongY) / square, 0, 1) : 0;
  return Math.hypot(x - startX - share * alongX, y - startY - share * alongY);
}

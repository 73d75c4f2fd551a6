"use strict";
// The 3D view on the page: its start, its controls, and the name of the camera below the pointer.

const NO_WEBGL = "This browser offers no WebGL, which the 3D view needs; the rest of the page works without it.";
const BY_MOUSE = "Drag to turn, with Shift to move, scroll to zoom, hover over a camera for its name.";
const BY_HAND = "Drag to turn, two fingers move and zoom, tap a camera for its name.";
const MANY_POINTS = 30000;

/** What the controls ask for. */
const whatToShow = () => ({
  points: byId("show-points").checked,
  cameras: byId("show-cameras").checked,
  pointSize: Number(byId("point-size").value),
});

/** The view on a new canvas, with its first frame drawn; null, with a sentence in its place, without WebGL. */
function openView() {
  const words = `3D view of ${plural(scene.num_drawn, "point")} and ${plural(scene.frusta_row.length, "camera")}. ` +
    "Arrow keys turn it, with Shift they move it, plus and minus zoom.";
  const canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": words });
  const renderer = createRenderer(canvas);
  if (!renderer) {
    byId("view3d").append(make("p", { class: "excuse" }, NO_WEBGL));
    byId("view-controls").hidden = true;
    return null;
  }
  byId("view3d").append(canvas);
  if (scene.num_drawn > MANY_POINTS) byId("point-size").value = 1; // so that they hide each other less
  const view = new View(canvas, renderer, whatToShow);
  view.draw();
  describeScene(view.limit);
  listenToControls(view);
  listenToGestures(canvas, (change) => {
    view.eye = change(view.eye);
    view.redraw();
  }, (spot) => showName(view, spot));
  keepDrawn(view);
  return view;
}

function listenToControls(view) {
  const redraw = () => view.redraw();
  for (const id of ["show-points", "show-cameras", "point-size"]) byId(id).addEventListener("input", redraw);
  offerChoices("point-color", ["Colour", "Error"], (choice) => {
    view.isByError = choice === "Error";
    view.layers.points.recolor(pointColors(view.isByError, view.limit));
    view.redraw();
  });
  byId("reset-view").addEventListener("click", () => {
    view.reset();
    view.redraw();
  });
}

/** Draw again when the page has changed its size, when it is printed, and when the graphics card had lost the scene. */
function keepDrawn(view) {
  new ResizeObserver(() => view.fitCanvas() && view.draw()).observe(view.canvas);
  window.addEventListener("beforeprint", () => view.draw());
  view.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  view.canvas.addEventListener("webglcontextrestored", () => {
    view.prepare(createRenderer(view.canvas));
    view.draw();
  });
}

/** Say the name and error of the camera at this place (in halves of the view's height from its middle), if any. */
function showName(view, spot) {
  const { clientWidth: width, clientHeight: height } = view.canvas;
  const at = spot && [(width + spot[0] * height) / 2, ((1 - spot[1]) * height) / 2];
  const camera = at && view.cameraAt(at);
  const label = byId("camera-name");
  label.hidden = camera === null;
  if (camera !== null) {
    const error = errorOf(camera);
    const quality = error === null ? "no points" : `mean error ${fixed(error)} px`;
    label.replaceChildren(make("b", {}, summary.images[scene.frusta_row[camera]].name), make("span", {}, quality));
    label.style.left = 0; // so that its width is its own, not what is left of the view
    label.style.left = `${clamp(at[0] + 14, 0, Math.max(0, width - label.offsetWidth - 8))}px`;
    label.style.top = `${at[1] + 16 + label.offsetHeight > height ? at[1] - 10 - label.offsetHeight : at[1] + 16}px`;
  }
  if (camera === view.hovered) return;
  view.hovered = camera;
  view.redraw();
}

function describeScene(limit) {
  const { num_far_points: farPoints, num_far_cameras: farCameras } = scene;
  const far = [farPoints && plural(farPoints, "point"), farCameras && plural(farCameras, "camera")].filter(Boolean);
  const rest = far.length ? `; ${far.join(" and ")} far away left out` : "";
  byId("scene-note").textContent =
    `${whole(scene.num_drawn)} of ${plural(summary.num_points, "point")} drawn${rest}. ` +
    (window.matchMedia("(hover: none)").matches ? BY_HAND : BY_MOUSE);
  if (scene.frusta_row.every((_, camera) => errorOf(camera) === null)) return;
  byId("scene-key").append(...colorKey(ERROR_SCALE, "Mean error: 0", `${fixed(limit, 1)} px`));
}

const nextFrame = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
// After the next frame, so that the words can be read while the view is being drawn.
const sceneIsDone = nextFrame().then(openView).then(async (view) => {
  await nextFrame();
  if (view) performance.mark("3D view drawn", { detail: { numPoints: view.layers.points.count } });
  return view;
});

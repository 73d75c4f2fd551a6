"use strict";
// Mouse, wheel, fingers and keys on the 3D view, as changes of the eye. Places are counted from the middle of the view
// in halves of its height.

const [TURN_SPEED, WHEEL_SPEED, WHEEL_LINE_PX, KEY_STEP] = [1.6, 0.0015, 33, 0.15];

/** Each key's change of the eye; with Shift, the arrows move the scene instead of turning it. */
const KEYS = {
  ArrowLeft: (eye, shift) => (shift ? panned : turned)(eye, -KEY_STEP, 0),
  ArrowRight: (eye, shift) => (shift ? panned : turned)(eye, KEY_STEP, 0),
  ArrowUp: (eye, shift) => (shift ? panned : turned)(eye, 0, KEY_STEP),
  ArrowDown: (eye, shift) => (shift ? panned : turned)(eye, 0, -KEY_STEP),
  "+": (eye) => zoomed(eye, 1 - KEY_STEP, [0, 0]),
  "=": (eye) => zoomed(eye, 1 - KEY_STEP, [0, 0]),
  "-": (eye) => zoomed(eye, 1 / (1 - KEY_STEP), [0, 0]),
};

/** Middle of the fingers, and their mean distance from it. */
function gather(places) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = [0, 1].map((k) => mean(places.map((place) => place[k])));
  return { middle, spread: mean(places.map(([x, y]) => Math.hypot(x - middle[0], y - middle[1]))) };
}

/** One finger or the mouse turns; with Shift, with another button, or with two fingers the scene is moved. */
function dragged(eye, before, after, isTurn) {
  const [across, upward] = [0, 1].map((k) => after.middle[k] - before.middle[k]);
  if (isTurn) return turned(eye, TURN_SPEED * across, TURN_SPEED * upward);
  const moved = panned(eye, across, upward);
  return before.spread && after.spread ? zoomed(moved, before.spread / after.spread, after.middle) : moved;
}

/**
 * Listen on the canvas. `change` takes a function from the eye to the next one; `look` is told where the pointer is
 * while nothing is held, and null when it leaves.
 */
function listenToGestures(canvas, change, look) {
  const held = new Map();
  const place = ({ clientX, clientY }) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [(2 * (clientX - left) - width) / height, (height - 2 * (clientY - top)) / height];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, place(event));
    look(event.pointerType === "mouse" ? null : place(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return look(place(event));
    const before = gather([...held.values()]);
    held.set(event.pointerId, place(event));
    const isTurn = held.size === 1 && !event.shiftKey && event.buttons === 1;
    look(null);
    return change((eye) => dragged(eye, before, gather([...held.values()]), isTurn));
  });
  const release = (event) => held.delete(event.pointerId);
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, release);
  canvas.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && look(null));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const scrolled = event.deltaY * (event.deltaMode ? WHEEL_LINE_PX : 1);
    look(null);
    change((eye) => zoomed(eye, Math.exp(clamp(WHEEL_SPEED * scrolled, -0.5, 0.5)), place(event)));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    look(null);
    change((eye) => KEYS[event.key](eye, event.shiftKey));
  });
}

"use strict";
// What the 3D view and the plots share: colours, arrays from the page's data, choices and keys.

const ERROR_SCALE = [[0, "#3b82f6"], [0.33, "#2cc7b5"], [0.66, "#f7b928"], [1, "#ef4444"]];
const ARRAYS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

function decode({ dtype, bdata }) {
  const letters = atob(bdata);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) bytes[k] = letters.charCodeAt(k);
  return new ARRAYS[dtype](bytes.buffer);
}

const clamp = (value, lower, upper) => Math.min(Math.max(value, lower), upper);

/** A colour of a scale as three bytes, at a place from 0 to 1; beyond the ends, the colour of the end. */
function rgbOn(scale, place) {
  const at = clamp(place, 0, 1);
  const bytes = (color) => [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16));
  const k = Math.max(1, scale.findIndex(([end]) => at <= end));
  const [[lower, from], [upper, to]] = [scale[k - 1], scale[k]];
  const mix = (a, b) => Math.round(a + ((b - a) * (at - lower)) / (upper - lower));
  return bytes(from).map((value, channel) => mix(value, bytes(to)[channel]));
}

/** A row of buttons of which one is pressed, the first at the start. */
function offerChoices(id, choices, choose) {
  const buttons = choices.map((choice, k) => {
    const button = make("button", { type: "button", "aria-pressed": k === 0 }, choice);
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", other === button);
      choose(choice);
    });
    return button;
  });
  byId(id).append(...buttons);
}

/** A colour ramp between two words. */
function colorKey(scale, from, to) {
  const ramp = make("i");
  const stops = scale.map(([at, color]) => `${color} ${100 * at}%`);
  ramp.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  return [from, ramp, to];
}

"use strict";
// What all plots share: colours, arrays from the page's data, and texts that plotly must not read as markup.

const ERROR_SCALE = [[0, "#3b82f6"], [0.33, "#2cc7b5"], [0.66, "#f7b928"], [1, "#ef4444"]];
const QUIET = { displayModeBar: false, displaylogo: false, responsive: true };
const ARRAYS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

function decode({ dtype, bdata }) {
  const letters = atob(bdata);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) bytes[k] = letters.charCodeAt(k);
  return new ARRAYS[dtype](bytes.buffer);
}

/** Plotly reads a few tags and entities in hover texts, and takes others literally: names must hold none it reads. */
const MARKS = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const escapeText = (text) => text.replace(/[&<>]/g, (mark) => MARKS[mark]);

const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function hoverLabel(background, color) {
  const family = getComputedStyle(document.body).fontFamily;
  return { bgcolor: background, bordercolor: background, font: { color, family, size: 13 }, align: "left" };
}

function quietLayout(extra) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    hoverlabel: hoverLabel(cssColor("ink"), cssColor("panel")),
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: cssColor("soft") },
    ...extra,
  };
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

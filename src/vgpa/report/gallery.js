"use strict";
// Images to look at, with the reason and a small picture where the photo is at hand: those whose camera is doubtful,
// and those that are missing.

/** What is doubtful about a registered camera: why it matters, and what to try. */
const DOUBT_WORDS = {
  "few points": "It sees so few points that its place is uncertain.",
  "high error": "Its points miss the photo by far more than those of the other images.",
  "turned against its neighbours": "It is turned differently than its matches with other images say.",
  "far away": "It lies far away from all other cameras.",
};

/** Images grouped by what `reasons` says of each row; a row may have several reasons or none. */
function groupRows(reasons) {
  const groups = new Map();
  summary.images.forEach((row, k) => {
    for (const reason of reasons(row)) {
      if (!groups.has(reason)) groups.set(reason, []);
      groups.get(reason).push(k);
    }
  });
  return groups;
}

function picture(k) {
  const { name } = summary.images[k];
  const source = data.thumbnails[k];
  return make("figure", { title: name }, make("img", { src: source, alt: "" }),
    make("figcaption", {}, name));
}

function reasonBlock(label, rows, ...words) {
  const isShown = (k) => k in data.thumbnails;
  const block = make("div", {}, ...words);
  const rest = rows.filter((k) => !isShown(k));
  if (rest.length < rows.length) {
    block.append(make("div", { class: "pictures" }, ...rows.filter(isShown).map(picture)));
  }
  if (rest.length) {
    block.append(make("div", { class: "names" },
      ...rest.map((k) => make("span", { class: "name" }, summary.images[k].name))));
  }
  const count = make("span", { class: "try" }, plural(rows.length, "image"));
  return make("div", { class: "reason" }, make("div", {}, make("b", {}, label), count), block);
}

function showGroups(id, groups, describe) {
  byId(id).hidden = groups.size === 0;
  for (const [reason, rows] of groups) byId(`${id}-list`).append(describe(reason, rows));
}

showGroups("doubtful", groupRows((row) => row.doubts || []), (doubt, rows) => (
  reasonBlock(capital(doubt), rows, make("div", {}, DOUBT_WORDS[doubt] || "Look at it before you trust it."))));
showGroups("missing", groupRows((row) => (row.state === "registered" ? [] : [row.state])), (state, rows) => {
  const [label, why, remedy] = stateWords(state);
  return reasonBlock(label, rows, make("div", {}, why), make("div", { class: "try" }, `Try: ${remedy}`));
});

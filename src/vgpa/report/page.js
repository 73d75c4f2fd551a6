"use strict";
// The words, cards and tables of the page. Text enters the document only as text nodes, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const summary = data.summary;
const byId = (id) => document.getElementById(id);

/** A new element with attributes and children; children that are no elements become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** Every state of an image in words: its name, why the image is missing, and what to try. */
const STATE_WORDS = {
  registered: ["Registered", "", ""],
  unreadable: ["Could not be read",
    "The file is damaged, empty, or not an image that can be decoded.",
    "Open it in an image viewer and save it again as JPEG or PNG."],
  no_features: ["No features",
    "No distinctive spots were found in it: it may be blurred, very dark, overexposed or plain.",
    "Take it again with more light, a steadier hand or more texture in view."],
  no_matches: ["Matches no other image",
    "It has features, but no other photo shows enough of the same ones.",
    "Add photos that share more than half of its view, taken from near its place."],
  not_in_component: ["In a separate group",
    "It matches some photos, but nothing ties that group to the main model.",
    "Add photos that bridge the two groups, or reconstruct the group on its own."],
  failed_averaging: ["Could not be placed",
    "Its matches put it in places that contradict each other, as look-alike parts of a scene often do.",
    "Add overlapping photos around it, and leave out photos of things that repeat or move."],
  dropped_in_ba: ["Too few points in the end",
    "It was placed, but hardly any 3D point agreed with it, so its pose was not to be trusted.",
    "Look for motion blur, moving things or a wrong focal length; add photos close to it."],
  not_placed: ["Not placed in the given model",
    "Its matches reach too few points of the model, or do not agree on a place.",
    "Add photos that overlap both it and the model, or reconstruct all photos together."],
  suspicious: ["Taken out as wrong",
    "It had a place, but one that was clearly wrong: hardly any points, large errors, turned against its neighbours, or far away.",
    "Add overlapping photos around it, and leave out photos of things that repeat or move."],
};
const stateWords = (state) => STATE_WORDS[state] || [state, "No further reason is known.", "Look into log.txt."];

/** Where a focal length came from before it was refined. */
const FOCAL_WORDS = {
  user: "given by you",
  exif: "from EXIF",
  prior: "from the database",
  voted: "voted by image pairs",
  guess: "guessed: 1.2 × the longer side",
};

const counting = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const whole = (value) => counting.format(value);
const fixed = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);
const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;

function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** "good", "fair" or "bad" for a value that is better when small. */
const tone = (value, fair, bad) => (value < fair ? "good" : value < bad ? "fair" : "bad");
const missingShare = 1 - summary.num_registered / Math.max(1, summary.num_images);
const coverage = summary.num_registered === summary.num_images ? "good" : tone(missingShare, 0.05, 0.3);
const accuracy = summary.num_points ? tone(summary.median_error_px, 1, 2) : "bad";

const models = summary.models || [];
const numInAnyModel = summary.images.filter((row) => row.state === "registered").length;

function showVerdict() {
  const missing = summary.num_images - numInAnyModel;
  const words = [
    missing ? `${whole(missing)} of ${plural(summary.num_images, "image")} missing` : "Every image is registered",
  ];
  if (models.length > 1) {
    words.push(`the photos fall into ${models.length} separate models, and this page shows the largest`);
  }
  if (!summary.num_points) words.push("there are no 3D points");
  else if (accuracy === "good") words.push("points agree with the photos to a fraction of a pixel");
  else words.push(`points miss the photos by ${fixed(summary.median_error_px, 1)} px, more than in a good model`);
  const verdict = byId("verdict");
  verdict.textContent = `${words.join("; ")}.`;
  verdict.classList.add(["bad", "fair", "good"].find((level) => coverage === level || accuracy === level));
}

function card(label, value, options = {}) {
  const number = make("div", { class: `value ${options.tone || ""}` }, value);
  if (options.unit) number.append(make("small", {}, ` ${options.unit}`));
  const hint = make("div", { class: "hint" }, options.hint || "");
  return make("div", { class: "card" }, make("div", { class: "label" }, label), number, hint);
}

function showCards() {
  const { num_images: total, num_registered: registered, num_points: points } = summary;
  byId("cards").append(
    card("Registered images", whole(registered), {
      unit: `/ ${whole(total)}`, tone: coverage,
      hint: models.length > 1 ? `in the largest of ${models.length} models`
        : `${Math.floor(100 * (1 - missingShare))}% of the photos`,
    }),
    card("Points", whole(points), { hint: plural(summary.num_observations, "observation") }),
    card("Mean track length", fixed(summary.mean_track_length), { hint: "images per point" }),
    card("Median error", points ? fixed(summary.median_error_px) : "–", {
      unit: "px", tone: accuracy, hint: points ? `mean ${fixed(summary.mean_error_px)} px` : "no points",
    }),
    card("Total time", duration(summary.seconds), { hint: plural(groupStages().length, "stage") }),
  );
}

function showScores() {
  const scores = summary.scores;
  if (!scores) return;
  const areas = Object.entries(scores.auc).map(([threshold, value]) => (
    card(`Pose AUC at ${threshold}°`, fixed(100 * value, 1), { unit: "/ 100" })));
  byId("scores").hidden = false;
  byId("scores").querySelector(".cards").append(
    card("Cameras found", whole(scores.num_registered), { unit: `/ ${whole(scores.num_images)}` }),
    card("Rotation error", fixed(scores.rotation_mean_deg, 3), {
      unit: "°", hint: `mean; median ${fixed(scores.rotation_median_deg, 3)}°`,
    }),
    card("Position error", fixed(100 * scores.position_mean_relative, 3), {
      unit: "%", hint: "mean, of the scene's size",
    }),
    ...areas,
  );
}

function showWarnings() {
  byId("warnings").hidden = summary.warnings.length === 0;
  byId("warnings").append(make("ul", {}, ...summary.warnings.map((sentence) => make("li", {}, sentence))));
}


/** Stages in the order of their first time; every model repeats some. */
function groupStages() {
  const groups = new Map();
  for (const { name, seconds } of summary.stages) {
    const group = groups.get(name) || { count: 0, seconds: 0 };
    groups.set(name, { count: group.count + 1, seconds: group.seconds + seconds });
  }
  return [...groups];
}

function showStages() {
  const groups = groupStages();
  const longest = Math.max(...groups.map(([, group]) => group.seconds), 1e-9);
  const rows = groups.flatMap(([name, { count, seconds }]) => {
    const fill = make("i");
    fill.style.width = `${(100 * seconds) / longest}%`;
    return [make("span", {}, capital(name) + (count > 1 ? ` ×${count}` : "")),
      make("span", { class: "track" }, fill), make("span", { class: "seconds" }, duration(seconds))];
  });
  const peak = Math.max(0, ...summary.stages.map((stage) => stage.peak_memory_mb || 0));
  byId("stages").append(make("div", { class: "time" }, ...rows));
  if (peak) byId("stages").append(make("p", { class: "note" }, `Peak memory ${whole(peak)} MB.`));
}

/** A table whose head sorts it. Columns: {label, number, value(row), cell(row)}; value sorts, cell is shown. */
function sortableTable(rows, columns) {
  const body = make("tbody");
  const heads = columns.map((column, index) => {
    const button = make("button", { type: "button" }, column.label);
    const head = make("th", { class: column.number ? "number" : "", scope: "col" }, button);
    button.addEventListener("click", () => sort(index, head));
    return head;
  });
  const lines = rows.map((row) => ({
    row,
    line: make("tr", {}, ...columns.map(({ number, value, cell }) => (
      make("td", { class: number ? "number" : "" }, (cell || value)(row))))),
  }));
  function sort(index, head) {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const value = columns[index].value;
    lines.sort((a, b) => sign * compare(value(a.row), value(b.row)));
    body.append(...lines.map(({ line }) => line));
  }
  body.append(...lines.map(({ line }) => line));
  return { table: make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body), lines };
}

function compare(a, b) {
  return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : (a ?? -1) - (b ?? -1);
}

function showImages() {
  const words = ({ state, doubts = [] }) => (
    doubts.length ? `Doubtful: ${doubts.join(", ")}` : stateWords(state)[0]);
  const level = ({ state, doubts = [] }) => (state !== "registered" ? "bad" : doubts.length ? "fair" : "good");
  const pill = (row) => make("span", { class: `pill ${level(row)}` }, words(row));
  const folder = (row) => (row.model === null || row.model === undefined ? "–" : models[row.model].folder);
  const { table, lines } = sortableTable(summary.images, [
    { label: "Name", value: (row) => row.name },
    { label: "State", value: words, cell: pill },
    ...(models.length > 1 ? [{ label: "Model", value: folder }] : []),
    { label: "Points", number: true, value: (row) => row.num_points, cell: (row) => whole(row.num_points) },
    {
      label: "Mean error, px", number: true,
      value: (row) => row.mean_error_px, cell: (row) => fixed(row.mean_error_px),
    },
  ]);
  byId("images").append(table);
  byId("image-filter").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const { row, line } of lines) line.hidden = !row.name.toLowerCase().includes(wanted);
  });
}

const shortParam = (value) => String(Number(value.toFixed(Math.abs(value) >= 10 ? 1 : 5)));

function showCameras() {
  const change = (row) => row.focal_px / row.focal_start_px - 1;
  const percent = (value) => `${value >= 0 ? "+" : "−"}${Math.abs(100 * value).toFixed(1)}%`;
  const { table } = sortableTable(summary.cameras, [
    { label: "Model", value: (row) => row.model },
    {
      label: "Size, px",
      value: (row) => row.width_px * row.height_px, cell: (row) => `${row.width_px} × ${row.height_px}`,
    },
    { label: "Images", number: true, value: (row) => row.num_images, cell: (row) => whole(row.num_images) },
    {
      label: "Focal length, px", number: true,
      value: (row) => row.focal_px, cell: (row) => `${fixed(row.focal_start_px, 1)} → ${fixed(row.focal_px, 1)}`,
    },
    { label: "Change", number: true, value: change, cell: (row) => percent(change(row)) },
    { label: "Where it started", value: (row) => FOCAL_WORDS[row.focal_source] || row.focal_source },
    { label: "Parameters, as COLMAP orders them", value: (row) => row.params.map(shortParam).join(", ") },
  ]);
  byId("cameras").append(table);
}

function showRest() {
  byId("settings").textContent = data.settings;
  const versions = Object.entries(summary.versions).map(([name, version]) => `${name} ${version}`);
  byId("versions").textContent = versions.join("\n");
}

showVerdict();
showCards();
showScores();
showWarnings();
showStages();
showCameras();
showImages();
showRest();

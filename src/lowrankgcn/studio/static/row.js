// The selected row: its cells, how probable each class is, why, and which labelled rows are near.

import { Unreachable, get } from "./api.js";
import { cellsOf, load } from "./contents.js";
import { $, foreign, make, percent, refill, shorten, whole } from "./dom.js";
import { colourNumber, sign } from "./looks.js";
import { NONE, store } from "./store.js";
import { label } from "./sync.js";

const CLASSES = 6; // bars shown at first
const QUIET = 200; // milliseconds
const COLUMNS = 16; // cells shown at first
const LETTERS = 160; // of a cell shown at first
const panel = $("row");
let asked = 0;
let unfolded = {}; // the cells that are shown, and their element
let current = { row: null }; // what the panel shows, completed as answers arrive

/** Show the row in focus: its cells at once if they are here, then probabilities, then reasons. */
async function show() {
  const number = ++asked;
  const row = store.focus;
  panel.ariaBusy = row !== null;
  if (current.row !== row) {
    current = { row, cells: cellsOf(row) };
    panel.scrollTop = 0;
  }
  paint();
  if (row === null) return;
  try {
    for (const ask of [load, one => get(`reasons/${one}`)]) {
      const answer = await ask(row);
      if (number !== asked) return;
      Object.assign(current, answer);
      paint();
    }
    panel.ariaBusy = false;
  } catch (error) {
    if (error instanceof Unreachable) return; // asked again after the next connection
    if (number === asked) panel.append(make("p", { className: "hint warning" }, error.message));
  }
}

/** Show what is known; labels belong to the row whose cells are on the screen. */
function paint() {
  const { row, cells: pairs } = current;
  const several = store.selection.length > 1 || row === null;
  store.visible = pairs ? row : null;
  if (pairs) panel.dataset.row = row;
  else delete panel.dataset.row;
  const parts = several ? (store.selection.length ? many() : nothing()) : [];
  const random = row !== null && !store.labelled[row] && store.state.random?.includes(row);
  if (row !== null) parts.push(title(row), random ? make("p", { className: "hint" }, "A random row, to measure the accuracy.") : null, pairs ? cells(current) : make("p", { className: "hint" }, "Loading …"));
  if (pairs) parts.push(probabilities(current), reasons(current), neighbours(current));
  refill(panel, ...parts.filter(Boolean));
}

function nothing() {
  return [
    make("h2", {}, "Start here"),
    make("ol", { className: "hint" },
      make("li", {}, "Click a point, or press ", make("kbd", {}, "N"), " for a row that is worth a label."),
      make("li", {}, "Press ", make("kbd", {}, "C"), " and type its class. Known classes have the keys ", make("kbd", {}, "1"), " to ", make("kbd", {}, "9"), "."),
      make("li", {}, "From two classes on, all other rows are predicted."),
    ),
    ...store.table.notes.map(note => make("p", { className: "hint warning" }, note)),
    make("p", { className: "hint" }, "Press ", make("kbd", {}, "?"), " for all keys."),
  ];
}

function many() {
  const counts = new Map();
  for (const row of store.selection) counts.set(store.codes[row], (counts.get(store.codes[row]) ?? 0) + 1);
  const most = store.selection.length;
  const bars = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 12);
  return [
    heading(`${whole(most)} rows selected`),
    make("p", { className: "hint" }, `${whole(store.labelledSelection())} of them labelled. A class key labels all of them.`),
    section("Predicted", make("ul", { className: "bars" }, ...bars.map(([code, count]) => bar(code, store.className(code) ?? "no prediction", count / most, whole(count))))),
  ];
}

function heading(text) {
  return make("div", { className: "title" }, make("h2", {}, text));
}

function section(name, ...children) {
  return make("section", { "aria-label": name }, make("h3", {}, name), ...children);
}

function title(row) {
  const box = heading(`Row ${whole(row + 1)}`);
  if (store.labelled[row]) {
    const remove = make("button", { type: "button", className: "quiet", title: "Remove the label (Delete)" }, "remove");
    remove.addEventListener("click", () => label([row], null));
    box.append(make("span", { className: "given" }, "labelled ", foreign(store.className(store.codes[row]), 60)), remove);
  }
  return box;
}

function bar(code, name, share, text) {
  const track = make("span", { className: `track back-${colourNumber(code)}`, "aria-hidden": "true" });
  track.style.setProperty("--share", share);
  return make("li", {}, sign(code), foreign(name, 60), track, make("span", { className: "number" }, text));
}

function probabilities({ probabilities: shares }) {
  if (!shares?.length) return null;
  const bars = shares.map(([name, share]) => bar(store.codeOf(name), name, share, percent(share, share > 0.9995 || share < 0.0005 ? 0 : 1)));
  const list = make("ul", { className: "bars" }, ...bars.slice(0, CLASSES));
  return section("Class probabilities", list, rest(bars.slice(CLASSES), () => list.append(...bars.slice(CLASSES)), "more classes"));
}

function rest(items, open, what) {
  if (!items.length) return null;
  const button = make("button", { type: "button", className: "quiet" }, `${whole(items.length)} ${what}`);
  button.addEventListener("click", () => {
    open();
    button.remove();
  });
  return button;
}

function reasons({ reasons: list, against, probabilities: shares }) {
  if (!list?.length) return null;
  const most = Math.max(...list.map(({ amount }) => Math.abs(amount)), 1e-12);
  const items = list.map(({ name, value, amount }) => {
    const track = make("span", { className: `reason ${amount >= 0 ? "for" : "against"}`, "aria-hidden": "true" });
    track.style.setProperty("--share", Math.abs(amount) / most);
    const text = make("span", { className: "what" }, foreign(name, 60), value === null || value === undefined || value === "" ? null : " = ", value === null || value === undefined || value === "" ? null : foreign(String(value), 60));
    const side = make("span", { className: "number" }, `${amount >= 0 ? "+" : "−"}${Math.abs(amount).toPrecision(2)}`);
    side.title = amount >= 0 ? "supports the class" : "speaks against the class";
    return make("li", {}, text, track, side);
  });
  const question = make("p", { className: "hint" }, "for ", foreign(shares?.[0]?.[0] ?? "the class", 60), ...(against ? [", against ", foreign(against, 60)] : []));
  return section("Strongest reasons", question, make("ul", { className: "reasons" }, ...items));
}

function neighbours({ neighbours: list }) {
  if (!list?.length) return null;
  const items = list.map(({ row, label: given, similarity }) => {
    const button = make("button", { type: "button" }, `Row ${whole(row + 1)}`);
    button.addEventListener("click", () => store.select([row]));
    return make("li", {}, sign(store.codeOf(given)), button, foreign(given, 60), make("span", { className: "number", title: "similarity" }, similarity < 0.005 ? "< 0.01" : similarity.toFixed(2)));
  });
  return section("Nearest labelled rows", make("ul", { className: "near" }, ...items));
}

/** Show cells; what a user has unfolded stays so while probabilities and reasons arrive. */
function cells({ cells: pairs }) {
  if (unfolded.pairs === pairs) return unfolded.node;
  const lines = pairs.map(([column, text]) => make("div", {}, make("dt", {}, foreign(column, 80)), value(text)));
  const list = make("dl", { className: "cells" }, ...lines.slice(0, COLUMNS));
  const node = section("Cells", list, rest(lines.slice(COLUMNS), () => list.append(...lines.slice(COLUMNS)), "more columns"));
  unfolded = { pairs, node };
  return node;
}

function value(text) {
  const box = make("dd", {}, foreign(text, LETTERS));
  if (text === null || text.length <= LETTERS) return box;
  const button = make("button", { type: "button", className: "quiet" }, `all ${whole(text.length)} characters`);
  button.addEventListener("click", () => box.replaceChildren(make("div", { className: "long", dir: "auto", tabIndex: 0 }, text)));
  box.append(" ", button);
  return box;
}

/** Say the row in focus to screen readers. */
function announce() {
  const row = store.focus;
  if (row === null) return;
  const name = store.className(store.codes[row]);
  const sure = store.labelled[row] ? "labelled" : percent(store.certainty[row] / 255);
  $("spoken").textContent = `Row ${row + 1}${store.codes[row] === NONE ? "" : `, ${shorten(name, 60)}, ${sure}`}`;
}

export function connectRow() {
  let version = -1;
  store.on("selection", () => {
    show();
    announce();
  });
  store.on("predictions", paint);
  let timer = 0;
  store.on("state", () => {
    if (store.state.version === version) return;
    version = store.state.version;
    // A label changes the version two or three times in a row: explain the row after the last one.
    clearTimeout(timer);
    timer = setTimeout(show, QUIET);
  });
}

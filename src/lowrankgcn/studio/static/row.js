// The selected row: its content first, then what the predictions say about it.

import { Unreachable, get } from "./api.js";
import { cellsOf, load } from "./contents.js";
import { $, foreign, make, percent, refill, shorten, whole } from "./dom.js";
import { bar, evidence, section } from "./evidence.js";
import { fields } from "./fields.js";
import { NONE, store } from "./store.js";
import { label } from "./sync.js";

const QUIET = 200; // milliseconds
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
  if (row !== null) parts.push(title(row), marks(current), random ? make("p", { className: "hint" }, "A random row, to measure the accuracy.") : null, pairs ? content(pairs) : make("p", { className: "hint" }, "Loading …"));
  if (pairs) parts.push(linked(current), evidence(current));
  refill(panel, ...parts.filter(Boolean));
}

/** Say how many of the rows that a given graph joins to a row have its class. */
function linked({ row, links = [] }) {
  const code = store.codes[row];
  if (!links.length || code === NONE) return null;
  const same = links.filter(other => store.codes[other] === code).length;
  return make("p", { className: "hint" }, `${whole(same)} of ${whole(links.length)} linked rows: `, foreign(store.className(code), 60));
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

function title(row) {
  const box = heading(`Row ${whole(row + 1)}`);
  if (store.labelled[row]) {
    const remove = make("button", { type: "button", className: "quiet", title: "Remove the label (Delete)" }, "remove");
    remove.addEventListener("click", () => label([row], null));
    box.append(make("span", { className: "given" }, "labelled ", foreign(store.className(store.codes[row]), 60)), remove);
  }
  return box;
}

/** Show what is known beside a label: skipped, accepted, who said what, a note. */
function marks({ row, accepted, note, imported, given = {} }) {
  const lines = [];
  if (store.skipped[row]) lines.push(["Skipped: not suggested again. ", make("kbd", {}, "0"), " takes it back."]);
  if (accepted && store.accepted[row]) lines.push(["Accepted prediction ", foreign(accepted, 60), ". ", make("kbd", {}, "Enter"), " makes it a label."]);
  for (const [who, name] of Object.entries(given)) lines.push([foreign(who, 40), ": ", foreign(name, 60)]);
  if (imported) lines.push([foreign(imported[2], 40), " predicts ", foreign(imported[0], 60), imported[1] === null ? "" : ` ${percent(imported[1])}`]);
  if (note) lines.push(["Note: ", foreign(note, 10000)]);
  return lines.length ? make("div", { className: "marks" }, ...lines.map(line => make("p", {}, ...line))) : null;
}

/** Show cells; what a user has unfolded stays so while probabilities and reasons arrive. */
function content(pairs) {
  if (unfolded.pairs !== pairs || unfolded.row !== current.row) unfolded = { row: current.row, pairs, node: fields(current.row, pairs) };
  return unfolded.node;
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

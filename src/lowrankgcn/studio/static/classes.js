// The classes: buttons, a text field for more than nine of them, and a dialog in which they are renamed, merged, deleted and sorted.

import { give } from "./actions.js";
import { $, foreign, make, refill, shorten, whenReleased, whole } from "./dom.js";
import { sign } from "./looks.js";
import { say } from "./message.js";
import { store } from "./store.js";
import { change } from "./sync.js";

const KEYED = 9; // classes with a number key; 0 skips
let entries = []; // of the dialog: { name, now, gone }

/** Return the key of a class: its own one, or its number. */
function keyOf(name, code) {
  return store.table.rubric[name]?.key ?? (code < KEYED ? String(code + 1) : null);
}

/** Return the class that a key assigns, or null. */
export function classOfKey(key) {
  const found = store.state.classes.find(({ name }, code) => keyOf(name, code) === key);
  return found?.name ?? null;
}

function buttons() {
  const all = store.state.classes.map(({ name, labelled, predicted }, code) => {
    const key = keyOf(name, code);
    const described = store.table.rubric[name]?.description ?? "";
    const counts = store.state.blind ? `${labelled} labelled` : `${labelled} labelled, ${predicted} predicted`;
    const button = make(
      "button",
      { type: "button", className: "class", title: `${shorten(name, 200)}: ${counts}${described ? `\n${described}` : ""}`, "aria-keyshortcuts": key },
      key === null ? null : make("kbd", {}, key),
      sign(code),
      foreign(name, 60),
      make("span", { className: "number" }, make("b", {}, whole(labelled)), store.state.blind ? "" : ` / ${whole(predicted)}`),
    );
    button.addEventListener("click", () => give(name));
    return button;
  });
  whenReleased("classes", () => refill($("classes"), ...all));
}

/** Return the class that a typed text means: the one with this name, or the first that begins with it. */
function meant(text) {
  const names = store.state.classes.map(({ name }) => name);
  const lower = text.toLowerCase();
  return names.find(name => name === text) ?? names.find(name => name.toLowerCase().startsWith(lower)) ?? null;
}

function hint() {
  const text = $("class-name").value.trim();
  const name = text && meant(text);
  const box = $("class-match");
  if (!text) return box.replaceChildren();
  if (name === null) return box.replaceChildren(make("kbd", {}, "Enter"), " new class");
  const other = name === text ? [] : [" · ", make("kbd", {}, "Shift Enter"), " new class"];
  box.replaceChildren(make("kbd", {}, "Enter"), " ", foreign(name, 40), ...other);
}

function named(event) {
  event.preventDefault();
  const field = $("class-name");
  const text = field.value.trim();
  if (!text) return;
  give((shifted ? null : meant(text)) ?? text);
  if (store.selection.length) field.value = "";
  field.blur();
  hint();
}

let shifted = false; // Shift with Enter: the class is a new one, although another one begins like it

// ---------------------------------------------------------------- dialog

function list() {
  const rows = entries.map((entry, place) => {
    const field = make("input", { type: "text", value: entry.now, disabled: entry.gone, maxLength: 1000, "aria-label": `Name of ${entry.name ?? "a new class"}` });
    field.addEventListener("input", () => {
      entry.now = field.value;
      summary();
    });
    const tool = (text, title, act, off = false) => {
      const button = make("button", { type: "button", title, "aria-label": `${title}: ${entry.name ?? "new class"}`, disabled: off }, text);
      button.addEventListener("click", () => {
        act();
        list();
      });
      return button;
    };
    const swap = other => { [entries[place], entries[other]] = [entries[other], entries[place]]; };
    const code = store.state.classes.findIndex(({ name }) => name === entry.name);
    const described = store.table.rubric[entry.name]?.description;
    return make(
      "li",
      { className: entry.gone ? "gone" : "" },
      code < 0 ? make("span", { className: "sign" }) : sign(code),
      field,
      tool("↑", "Move up", () => swap(place - 1), place === 0),
      tool("↓", "Move down", () => swap(place + 1), place === entries.length - 1),
      tool(entry.gone ? "Keep" : "Delete", entry.gone ? "Keep" : "Delete", () => { entry.gone = !entry.gone; }),
      described ? make("small", {}, foreign(described, 2000)) : null,
    );
  });
  $("class-list").replaceChildren(...rows);
  summary();
}

/** Say what the changes do to labels. */
function summary() {
  const count = name => store.state.classes.find(one => one.name === name)?.labelled ?? 0;
  const lines = [];
  const labels = n => (n === 1 ? "1 label" : `${whole(n)} labels`);
  for (const { name, now, gone } of entries) {
    if (name === null) continue;
    const same = entries.find(other => !other.gone && other.name !== name && other.now.trim() === now.trim());
    if (gone) lines.push(make("li", {}, "deletes ", foreign(name, 60), ` with ${labels(count(name))}`));
    else if (same && entries.indexOf(same) < entries.findIndex(one => one.name === name)) {
      lines.push(make("li", {}, "merges ", foreign(name, 60), ` (${labels(count(name))}) with `, foreign(same.name ?? same.now, 60), same.name === now.trim() || same.name === null ? "" : [" as ", now.trim()].join("")));
    }
  }
  $("class-summary").replaceChildren(...lines);
}

function edit() {
  entries = store.state.classes.map(({ name }) => ({ name, now: name, gone: false }));
  list();
  $("class-dialog").returnValue = "";
  $("class-dialog").showModal();
}

async function save() {
  if ($("class-dialog").returnValue !== "save") return;
  const kept = entries.filter(({ now, gone }) => !gone && now.trim());
  const order = [...new Set(kept.map(({ now }) => now.trim()))];
  const changed = entries.filter(({ name, now, gone }) => name !== null && (gone || now.trim() !== name));
  const renamed = Object.fromEntries(changed.map(({ name, now, gone }) => [name, gone || !now.trim() ? null : now.trim()]));
  if (await change("classes", { order, renamed })) say("Classes changed. Undo takes it back.");
}

export function connectClasses() {
  $("new-class").addEventListener("submit", named);
  $("class-name").addEventListener("keydown", event => { shifted = event.shiftKey; });
  $("class-name").addEventListener("input", hint);
  $("edit-classes").addEventListener("click", edit);
  $("add-class").addEventListener("click", () => {
    entries.push({ name: null, now: "", gone: false });
    list();
    $("class-list").querySelector("li:last-child input").focus();
  });
  $("class-dialog").addEventListener("close", save);
  store.on("state table", () => {
    if (store.table) buttons();
  });
}

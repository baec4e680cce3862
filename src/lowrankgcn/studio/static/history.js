// What has been done, by whom and when; notes on rows; the name of who labels.

import { get } from "./api.js";
import { $, foreign, make, whole } from "./dom.js";
import { say } from "./message.js";
import { person, setPerson, store } from "./store.js";
import { change } from "./sync.js";

const PAGE = 100; // steps that are listed at a time

function what(step) {
  const rows = step.rows === 1 ? "" : `${whole(step.rows)} rows `;
  const { skipped, accepted, note } = step.marks;
  let parts = [`${rows}changed`];
  if (step.classes !== null) parts = ["classes changed", step.labels ? `, ${whole(step.labels)} labels` : ""];
  else if (accepted !== undefined) parts = [`${whole(step.rows)} predictions accepted`];
  else if (skipped !== undefined) parts = [`${rows}skipped`];
  else if (note !== undefined) parts = ["note: ", foreign(note, 80)];
  else if (step.labels && step.class !== null) parts = [`${rows}labelled `, foreign(step.class, 60)];
  else if (step.labels) parts = [`${rows}${step.kind === "label" ? "label removed" : "changed"}`];
  if (step.kind !== "label") parts.unshift(`${step.kind}: `);
  if (step.audited) parts.push(" (random row)");
  return parts;
}

async function list(offset = 0) {
  const { total, steps } = await get(`history?${new URLSearchParams({ offset, count: PAGE })}`);
  const items = steps.map(step => {
    const button = make("button", { type: "button", disabled: step.row === null }, step.row === null ? "–" : `Row ${whole(step.row + 1)}`);
    button.addEventListener("click", () => {
      $("history").close();
      store.select([step.row]);
    });
    const when = step.time ? new Date(step.time).toLocaleString() : "";
    return make("li", {}, button, make("span", {}, ...what(step)), make("small", {}, step.by === null ? null : foreign(step.by, 40), " ", when));
  });
  if (!offset) $("steps").replaceChildren(...(items.length ? [] : [make("li", { className: "hint" }, "Nothing yet.")]));
  $("steps").append(...items);
  if (offset + steps.length < total) {
    const more = make("button", { type: "button" }, "more");
    more.addEventListener("click", () => {
      more.remove();
      list(offset + PAGE).catch(error => say(error.message));
    });
    $("steps").append(more);
  }
}

export function history() {
  $("annotator").value = person() ?? "";
  list().catch(error => say(error.message));
  $("history").showModal();
}

/** Write a note on the row in focus. */
export async function note() {
  const row = store.focus;
  if (row === null) return say("Select a row first: click a point, or press N.");
  const { note: text } = await get(`row/${row}`);
  $("note-title").textContent = `Note on row ${whole(row + 1)}`;
  $("note-text").value = text ?? "";
  const box = $("note-dialog");
  box.returnValue = "";
  box.showModal();
  $("note-text").focus();
  box.addEventListener("close", () => {
    if (box.returnValue === "save") change("note", { row, text: $("note-text").value });
  }, { once: true });
}

/** Return whether it is known who labels. If several people share the studio, ask once, then call `resume`. */
export function introduced(resume) {
  if (!store.state.several || person() !== null) return true;
  const box = $("person-dialog");
  box.returnValue = "";
  box.showModal();
  box.onclose = () => {
    if (box.returnValue !== "go") return;
    box.onclose = null; // an earlier "close" may come late
    setPerson($("person").value);
    resume();
  };
  return false;
}

export function connectHistory() {
  $("open-history").addEventListener("click", history);
  $("open-note").addEventListener("click", note);
  $("annotator").addEventListener("change", () => setPerson($("annotator").value));
}

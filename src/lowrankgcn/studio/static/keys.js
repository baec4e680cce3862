// One key, one action. Keys belong to a text field while it has the focus.

import { assign, confirm, give, next, skipSelection } from "./actions.js";
import { classOfKey } from "./classes.js";
import { clearFilter, selectShown } from "./filters.js";
import { $ } from "./dom.js";
import { history, note } from "./history.js";
import { fit, zoom } from "./map.js";
import { encircle } from "./pointer.js";
import { store } from "./store.js";
import { step } from "./sync.js";
import { moveBy, search, windowRows } from "./table.js";

const KEYS = {
  n: next,
  u: () => step("undo"),
  U: () => step("redo"),
  r: () => step("redo"),
  z: () => step("undo"),
  Z: () => step("redo"),
  s: skipSelection,
  0: skipSelection,
  a: selectShown,
  e: note,
  h: history,
  Enter: confirm,
  l: () => encircle(),
  f: fit,
  c: () => $("class-name").focus(),
  "/": () => $("search").focus(),
  "?": () => $("help").showModal(),
  "+": () => zoom(1.5),
  "=": () => zoom(1.5),
  "-": () => zoom(1 / 1.5),
  Delete: () => give(null),
  Backspace: () => give(null),
  ArrowDown: event => moveBy(1, event.shiftKey),
  ArrowUp: event => moveBy(-1, event.shiftKey),
  PageDown: event => moveBy(windowRows(), event.shiftKey),
  PageUp: event => moveBy(-windowRows(), event.shiftKey),
  Home: event => moveBy(-Infinity, event.shiftKey),
  End: event => moveBy(Infinity, event.shiftKey),
  Escape: clear,
};
for (let code = 0; code < 9; code++) KEYS[code + 1] = () => assign(code);

function clear() {
  encircle(false);
  for (const menu of document.querySelectorAll(".menu")) menu.open = false;
  $("search").value = "";
  $("class-name").value = "";
  $("class-match").replaceChildren();
  search("");
  clearFilter();
  store.select([]);
}

export function connectKeys() {
  document.addEventListener("keydown", event => {
    const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
    if (document.querySelector("dialog[open]") || event.altKey) return;
    if (typing && event.key === "Escape") {
      event.target.blur();
      return clear();
    }
    if (typing && event.target.id === "search" && event.key === "Enter") return $("grid").focus();
    if (typing) return;
    if (event.ctrlKey || event.metaKey) {
      const undoes = { z: event.shiftKey ? "redo" : "undo", y: "redo" }[event.key.toLowerCase()];
      if (undoes) event.preventDefault();
      if (undoes) step(undoes);
      return;
    }
    if (event.key === "Enter" && event.target.closest("button, summary, a")) return;
    const name = classOfKey(event.key);
    const action = name !== null ? () => give(name) : (KEYS[event.key] ?? KEYS[event.key.toLowerCase()]);
    if (!action) return;
    event.preventDefault();
    action(event);
  });
  $("open-help").addEventListener("click", () => $("help").showModal());
}

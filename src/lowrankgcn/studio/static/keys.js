// One key, one action. Keys belong to a text field while it has the focus.

import { $ } from "./dom.js";
import { assign, give, next } from "./head.js";
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
for (let code = 0; code < 10; code++) KEYS[(code + 1) % 10] = () => assign(code);

function clear() {
  encircle(false);
  $("write").open = false;
  $("search").value = "";
  $("class-name").value = "";
  search("");
  store.select([]);
}

export function connectKeys() {
  document.addEventListener("keydown", event => {
    const typing = event.target.matches("input:not([type=checkbox])");
    if (typing && event.key === "Escape") {
      event.target.blur();
      return clear();
    }
    if (typing && event.target.id === "search" && event.key === "Enter") return $("grid").focus();
    if (typing || document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
  $("open-help").addEventListener("click", () => $("help").showModal());
}

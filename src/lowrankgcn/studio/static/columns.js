// The columns of the table: which are shown, how wide they are, and the menu that hides them.

import { $, foreign, make } from "./dom.js";
import { store } from "./store.js";

const WIDTHS = { number: 110, date: 120, category: 132, link: 180, image: 72, text: 340 }; // pixels at first
const [NARROWEST, WIDEST, STEP] = [48, 900, 16]; // pixels; a key changes a width by STEP
const MENU = 200; // columns that the menu lists

let widths = []; // pixels of every column, 0 if hidden
let starts = [0]; // pixels before every column, and of all
let changed = () => {};
const kept = () => `columns ${store.table.name} ${store.table.columns.length}`;

/** Choose the widths for a table: those of the last visit, if there was one. */
export function openColumns(listener) {
  changed = listener;
  const { columns } = store.table;
  widths = columns.map(({ show }) => WIDTHS[show] ?? WIDTHS.category);
  for (const i of store.table.pixels?.columns ?? []) widths[i] = 0; // the picture shows them
  try {
    const last = JSON.parse(localStorage.getItem(kept()) ?? "{}");
    columns.forEach(({ name }, i) => (widths[i] = Object.hasOwn(last, name) ? Number(last[name]) || 0 : widths[i]));
  } catch {
    // A browser without storage shows the usual widths.
  }
  measure();
  menu();
}

function measure() {
  starts = [0];
  for (const width of widths) starts.push(starts.at(-1) + width);
}

function resize(column, width) {
  widths[column] = width && Math.min(WIDEST, Math.max(NARROWEST, Math.round(width)));
  measure();
  try {
    localStorage.setItem(kept(), JSON.stringify(Object.fromEntries(store.table.columns.map(({ name }, i) => [name, widths[i]]))));
  } catch {
    // The widths last as long as the page.
  }
  changed();
}

/** Return the positions of the shown columns between two pixels. */
export function columnsBetween(left, right) {
  return widths.flatMap((width, i) => (width && starts[i] < right && starts[i + 1] > left ? [i] : []));
}

export const widthOf = column => widths[column];

/** Put empty space before and after the columns in the window. */
export function spaced(columns, cells) {
  const space = pixels => {
    const element = make("div", { className: "space", role: "none" });
    element.style.width = `${pixels}px`;
    return element;
  };
  const [first, last] = [columns[0] ?? 0, columns.at(-1) ?? 0];
  return [space(starts[first]), ...cells, space(starts.at(-1) - starts[columns.length ? last + 1 : 0])];
}

/** Return the edge of a column's head, which is dragged, or moved by the arrow keys. */
export function edge(column) {
  const name = store.table.columns[column].name.slice(0, 80);
  const handle = make("span", { className: "edge", role: "separator", tabIndex: 0, "aria-orientation": "vertical", "aria-label": `Width of ${name}`, "aria-valuenow": widths[column], title: "Drag to change the width; double-click to hide the column" });
  handle.addEventListener("pointerdown", event => {
    event.preventDefault();
    const before = widths[column] - event.clientX;
    const move = moved => resize(column, before + moved.clientX);
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
    };
    addEventListener("pointermove", move); // the head is drawn anew meanwhile
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  });
  handle.addEventListener("click", event => event.stopPropagation());
  handle.addEventListener("dblclick", () => hide(column, true));
  handle.addEventListener("keydown", event => {
    const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    resize(column, widths[column] + step);
    $("head").querySelector(`[data-column="${column}"] .edge`)?.focus({ preventScroll: true });
  });
  return handle;
}

function hide(column, hidden) {
  resize(column, hidden ? 0 : (WIDTHS[store.table.columns[column].show] ?? WIDTHS.category));
  menu();
}

/** List the columns with a box that shows or hides each. */
function menu() {
  const boxes = store.table.columns.slice(0, MENU).map(({ name }, i) => {
    const box = make("input", { type: "checkbox", checked: widths[i] > 0 });
    box.addEventListener("change", () => hide(i, !box.checked));
    return make("li", {}, make("label", {}, box, foreign(name, 60)));
  });
  const list = $("columns").querySelector("ul");
  const { scrollTop } = list;
  list.replaceChildren(...boxes);
  list.scrollTop = scrollTop;
  const hidden = widths.filter(width => !width).length;
  $("columns").querySelector("summary").textContent = hidden ? `Columns (${hidden} hidden)` : "Columns";
}

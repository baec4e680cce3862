// Mouse and fingers on the map: drag moves it (or turns a cloud in space), wheel and pinch zoom, a click selects.

import { cellsOf, linksOf, load } from "./contents.js";
import { $, foreign, make, percent, shorten } from "./dom.js";
import { draw, fit, moved, nearest, overlay, panel, view, within, zoom } from "./map.js";
import { pictures } from "./picture.js";
import { store } from "./store.js";

const REACH = 14; // pixels around the pointer
const CLICK = 5; // pixels that a click may move
const PICTURE = 140; // pixels of the longest side in the hint under the pointer
const QUIET = 80; // milliseconds until its row is asked for
const TURN = 0.008; // angle per pixel
const pointers = new Map(); // fingers, or the mouse while its button is down
let encircling = false;
let pointed = [0, 0]; // where the pointer is
let asking = 0;

/** Switch the lasso on or off. */
export function encircle(on = !encircling) {
  encircling = on;
  view.lasso = null;
  $("lasso").setAttribute("aria-pressed", on);
  panel.classList.toggle("encircling", on);
  draw();
}

function at(event) {
  const box = panel.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function down(event) {
  overlay.setPointerCapture(event.pointerId);
  const [x, y] = at(event);
  pointers.set(event.pointerId, { x, y, travelled: 0, turning: view.camera.dimensions === 3 && event.button === 0 && !event.altKey });
  view.lasso = pointers.size === 1 && (encircling || event.shiftKey) ? [[x, y]] : null;
  hover(null);
}

function move(event) {
  const [x, y] = at(event);
  const pointer = pointers.get(event.pointerId);
  if (!pointer) return hover(event.pointerType === "touch" ? null : nearest(x, y, REACH), x, y);
  const [dx, dy] = [x - pointer.x, y - pointer.y];
  pointer.travelled += Math.hypot(dx, dy);
  if (pointers.size === 2) pinch(pointer, x, y, dx, dy);
  else if (view.lasso) view.lasso.push([x, y]);
  else if (pointer.travelled > CLICK) {
    if (pointer.turning) view.camera.turn(dx * TURN, dy * TURN);
    else view.camera.move(dx, dy);
  }
  Object.assign(pointer, { x, y });
  if (view.lasso) draw();
  else moved();
}

function pinch(pointer, x, y, dx, dy) {
  const other = [...pointers.values()].find(one => one !== pointer);
  const before = Math.max(1, Math.hypot(pointer.x - other.x, pointer.y - other.y));
  view.camera.zoomAt(Math.hypot(x - other.x, y - other.y) / before, (x + other.x) / 2, (y + other.y) / 2);
  view.camera.move(dx / 2, dy / 2);
}

function up(event) {
  const pointer = pointers.get(event.pointerId);
  pointers.delete(event.pointerId);
  if (!pointer || event.type === "pointercancel") return;
  const more = event.ctrlKey || event.metaKey;
  if (view.lasso && pointer.travelled > CLICK) {
    const rows = within(view.lasso);
    encircle(false);
    store.select(more ? [...new Set([...store.selection, ...rows])] : rows, rows.length === 1 ? rows[0] : null);
  } else if (pointer.travelled <= CLICK && pointers.size === 0) {
    view.lasso = null;
    click(nearest(pointer.x, pointer.y, REACH), more);
  }
  draw();
}

function click(row, more) {
  if (!more) store.select(row === null ? [] : [row]);
  else if (row !== null) store.toggle(row);
}

function wheel(event) {
  event.preventDefault();
  const step = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 0.05 : 0.0016;
  view.camera.zoomAt(Math.exp(-step * event.deltaY), ...at(event));
  moved();
}

/** Show what the row under the pointer is. */
function hover(row, x, y) {
  if (row !== view.hovered) draw();
  view.hovered = row;
  const tip = $("tip");
  tip.hidden = row === null;
  if (row === null) return;
  const name = store.className(store.codes[row]);
  const sure = store.labelled[row] ? "labelled" : percent(store.certainty[row] / 255);
  const cells = cellsOf(row);
  if ((!cells || (store.table.linked && !linksOf(row))) && !asking) asking = setTimeout(() => ask(x, y), QUIET);
  const line = make("div", {}, `Row ${row + 1}`, ...(name === null ? [] : [" · ", make("bdi", {}, shorten(name, 40)), `, ${sure}`]));
  if (tip.dataset.row !== String(row) || Boolean(cells) !== tip.classList.contains("complete")) {
    tip.replaceChildren(line, ...(cells ? [make("div", { className: "brief" }, ...pictures(row, cells, PICTURE).slice(0, 1), ...title(cells))] : []));
    tip.dataset.row = row;
    tip.classList.toggle("complete", Boolean(cells));
  } else tip.firstChild.replaceWith(line);
  pointed = [x, y];
  moveTip();
}

/** Keep the tip within the map; a picture makes it higher when it arrives. */
function moveTip() {
  const [x, y] = pointed;
  const { offsetWidth, offsetHeight, style } = $("tip");
  style.left = `${Math.max(0, Math.min(x + 14, view.camera.width - offsetWidth - 6))}px`;
  style.top = `${Math.max(0, Math.min(y + 14, view.camera.height - offsetHeight - 6))}px`;
}

/** Ask for the cells of the row under the pointer, if the pointer rests. */
async function ask(x, y) {
  const row = view.hovered;
  await (row === null ? null : load(row).catch(() => null)); // without them, only the number is shown
  asking = 0;
  if (row === null || view.hovered === null) return;
  hover(view.hovered, x, y);
  draw(); // its edges
}

function title(cells) {
  const place = store.table.title;
  return place === null || cells[place][1] === null ? [] : [foreign(cells[place][1], 90)];
}

export function connectPointer() {
  store.on("map", () => {
    new ResizeObserver(moveTip).observe($("tip"));
    overlay.addEventListener("pointerdown", down);
    overlay.addEventListener("pointermove", move);
    overlay.addEventListener("pointerup", up);
    overlay.addEventListener("pointercancel", up);
    overlay.addEventListener("pointerleave", () => hover(null));
    overlay.addEventListener("contextmenu", event => event.preventDefault());
    overlay.addEventListener("wheel", wheel, { passive: false });
    $("lasso").addEventListener("click", () => encircle());
    $("zoom-in").addEventListener("click", () => zoom(1.5));
    $("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
    $("fit").addEventListener("click", fit);
  });
}

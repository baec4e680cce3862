// The map of all rows: what is drawn, and how the pointer moves, picks and encircles.

import { Camera } from "./camera.js";
import { density } from "./density.js";
import { $, make, percent, shorten, whole } from "./dom.js";
import { Painter as FlatPainter } from "./flat.js";
import { Painter as GLPainter } from "./gl.js";
import { Grid, inside } from "./grid.js";
import { colour, colourNumber, palette, scheme, shapeNumber } from "./looks.js";
import { store } from "./store.js";
import { painted } from "./sync.js";

const MOST_POINTS = 250_000; // more rows in the window are drawn as a density
const MOST_SLOW = 20_000; // the same without WebGL2, or while moving on a slow machine
const SLOW = 25; // milliseconds of a frame
const REST = 140; // milliseconds without movement
const REACH = 14; // pixels around the pointer
const CLICK = 5; // pixels that a click may move

const panel = $("map");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let canvas = make("canvas", { className: "points", role: "img" });
const overlay = make("canvas", { className: "overlay", "aria-hidden": "true" });
panel.prepend(canvas, overlay);

let painter, camera, grid, order, faded;
let looks, rings;
let colours = {};
let ratio = 1;
let limit = MOST_POINTS;
let frame = 0;
let movedAt = -Infinity;
let lastFrame = 0;
let fresh = false; // new colours since the last frame
let hovered = null;
let lasso = null; // corners while it is drawn
let encircling = false;
const pointers = new Map();

// ---------------------------------------------------------------- what is drawn

function begin() {
  const { dimensions, space, rows } = store.table;
  camera = new Camera(dimensions, space === "embedding");
  const positions = store.positions;
  if (dimensions === 2) {
    grid = new Grid(positions);
    order = grid.order;
  } else {
    order = shuffled(rows); // the first rows are a fair sample of all
  }
  const sorted = new Float32Array(3 * rows);
  order.forEach((row, i) => {
    for (let axis = 0; axis < dimensions; axis++) sorted[3 * i + axis] = positions[dimensions * row + axis];
  });
  readColours();
  choosePainter(sorted);
  new ResizeObserver(resize).observe(panel);
  caption();
}

function choosePainter(sorted) {
  try {
    painter = new GLPainter(canvas);
    canvas.addEventListener("webglcontextlost", () => {
      paintFlat(sorted);
      recolour();
    });
    painter.setPositions(sorted);
  } catch (error) {
    console.warn(`The map is drawn without WebGL2: ${error.message}`);
    paintFlat(sorted);
  }
  panel.dataset.painter = painter.slow ? "flat" : "webgl";
}

/** A canvas keeps its first kind of context, so another one takes its place. */
function paintFlat(sorted) {
  const other = canvas.cloneNode();
  canvas.replaceWith(other);
  canvas = other;
  painter = new FlatPainter(canvas);
  painter.setPositions(sorted);
  limit = MOST_SLOW;
}

function shuffled(rows) {
  const numbers = Uint32Array.from({ length: rows }, (_, i) => i);
  let seed = 1;
  for (let i = rows - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = seed % (i + 1);
    [numbers[i], numbers[j]] = [numbers[j], numbers[i]];
  }
  return numbers;
}

function readColours() {
  colours = { palette: palette(), paper: colour("map"), ring: colour("ink"), chosen: colour("accent") };
}

/** Give every row its colour, shape, certainty and marks (1: labelled, 2: selected, 4: faded). */
function recolour() {
  if (!camera || !store.codes) return;
  const rows = order.length;
  looks ??= new Uint8Array(4 * rows);
  const { codes, certainty, labelled, selection } = store;
  const selected = new Uint8Array(rows);
  for (const row of selection) selected[row] = 2;
  faded = null;
  if (store.matches) {
    faded = new Uint8Array(rows).fill(4);
    for (const row of store.matches) faded[row] = 0;
  }
  const ringed = [];
  for (let i = 0; i < rows; i++) {
    const row = order[i];
    const code = codes[row];
    looks[4 * i] = colourNumber(code);
    looks[4 * i + 1] = shapeNumber(code);
    looks[4 * i + 2] = certainty[row];
    looks[4 * i + 3] = labelled[row] | selected[row] | (faded ? faded[row] : 0);
    if (labelled[row] || selected[row]) ringed.push(i);
  }
  rings = Uint32Array.from(ringed);
  painter.setLooks(looks, rings);
  if (grid && rows > MOST_SLOW) painter.setDensity(grid.size, density(grid, codes, certainty, faded));
  draw();
}

function resize() {
  ratio = Math.min(devicePixelRatio, 2);
  const { width, height } = panel.getBoundingClientRect();
  if (!width || !height) return;
  Object.assign(camera, { width, height });
  for (const one of panel.querySelectorAll("canvas")) {
    one.width = Math.round(width * ratio);
    one.height = Math.round(height * ratio);
  }
  paint();
}

function draw() {
  if (!frame) frame = requestAnimationFrame(paint);
}

function moved() {
  movedAt = performance.now();
  setTimeout(draw, REST + 10);
  draw();
}

/** Points grow with the zoom, and are smaller in large tables. */
function radius() {
  const base = Math.min(6, Math.max(1.2, 13 * order.length ** -0.18 - 0.6));
  return Math.min(8, base * camera.zoom ** 0.3);
}

function paint(now = performance.now()) {
  cancelAnimationFrame(frame);
  frame = 0;
  if (!looks) return;
  const moving = now - movedAt < REST;
  if (moving && now - lastFrame > SLOW && now - lastFrame < 10 * SLOW) limit = Math.max(MOST_SLOW, limit / 1.5);
  lastFrame = now;
  const most = moving ? limit : painter.slow ? MOST_SLOW : MOST_POINTS;
  let ranges = grid ? grid.ranges(camera.box) : [[0, moving ? Math.min(limit, order.length) : order.length]];
  const dense = grid !== undefined && ranges.reduce((sum, [start, end]) => sum + end - start, 0) > most;
  if (dense) ranges = [];
  panel.dataset.drawn = dense ? "density" : "points";
  painter.draw({ camera, ranges, density: dense, radius: radius(), ratio, colours });
  mark();
  if (fresh) requestAnimationFrame(painted); // the next frame starts when this one is on the screen
  fresh = false;
}

/** Draw what is on top: suggestions, the row in focus, the pointer's row, the lasso. */
function mark() {
  const context = overlay.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, camera.width, camera.height);
  const css = value => `rgb(${value.join(" ")})`;
  const circle = (row, size, width, style) => {
    const [x, y] = place(row);
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.lineWidth = width;
    context.strokeStyle = css(style);
    context.stroke();
    return [x, y];
  };
  const size = radius() + 4.5;
  context.font = "600 11px system-ui, sans-serif";
  context.textBaseline = "middle";
  store.state.suggestions.forEach((row, number) => {
    if (store.labelled[row]) return;
    circle(row, size, 4, colours.paper);
    const [x, y] = circle(row, size, 1.6, colours.chosen);
    context.lineWidth = 3;
    context.strokeStyle = css(colours.paper);
    context.fillStyle = css(colours.chosen);
    context.strokeText(number + 1, x + size + 2, y - size + 1);
    context.fillText(number + 1, x + size + 2, y - size + 1);
  });
  if (hovered !== null) circle(hovered, size - 1.5, 1.5, colours.ring);
  if (store.focus !== null) {
    circle(store.focus, size + 2, 5, colours.paper);
    circle(store.focus, size + 2, 2.5, colours.chosen);
  }
  if (!lasso) return;
  context.beginPath();
  for (const [x, y] of lasso) context.lineTo(x, y);
  context.closePath();
  context.fillStyle = `rgb(${colours.chosen.join(" ")} / .12)`;
  context.strokeStyle = css(colours.chosen);
  context.lineWidth = 1.5;
  context.fill();
  context.stroke();
}

function caption() {
  const { rows, space, dimensions, axes } = store.table;
  canvas.setAttribute("aria-label", `Map of ${rows} rows, coloured by predicted class. The table lists the same rows.`);
  if (space === "embedding") $("caption").replaceChildren(`${whole(rows)} rows; similar rows lie near each other`);
  else {
    const names = axes.map((axis, i) => make("bdi", {}, `${"xyz"[i]}: ${shorten(axis, 40)}`));
    $("caption").replaceChildren(...names.flatMap(name => [name, " · "]), dimensions === 3 ? "drag to turn" : `${whole(rows)} rows`);
  }
}

// ---------------------------------------------------------------- where rows lie

/** Pixels of a row, from the upper left corner of the map. */
export function place(row) {
  return camera.toScreen(...camera.place(store.positions, row));
}

function nearest(px, py) {
  let best = null;
  let least = REACH ** 2;
  const look = (row, x, y) => {
    const [sx, sy] = camera.toScreen(x, y);
    const away = (sx - px) ** 2 + (sy - py) ** 2;
    if (away < least && !(faded && faded[row])) [best, least] = [row, away];
  };
  const [left, high] = camera.toMap(px - REACH, py - REACH);
  const [right, low] = camera.toMap(px + REACH, py + REACH);
  visit({ left, right, low, high }, look);
  return best;
}

function visit(box, look) {
  if (grid) return grid.visit(box, look);
  const places = camera.places(store.positions);
  for (let row = 0; row < order.length; row++) look(row, places[2 * row], places[2 * row + 1]);
}

function encircled() {
  const polygon = lasso.map(([x, y]) => camera.toMap(x, y));
  const [xs, ys] = [polygon.map(([x]) => x), polygon.map(([, y]) => y)];
  const box = { left: Math.min(...xs), right: Math.max(...xs), low: Math.min(...ys), high: Math.max(...ys) };
  const rows = [];
  visit(box, (row, x, y) => {
    if (x < box.left || x > box.right || y < box.low || y > box.high) return;
    if (!(faded && faded[row]) && inside(polygon, x, y)) rows.push(row);
  });
  return rows.sort((a, b) => a - b);
}

// ---------------------------------------------------------------- how it moves

/** Bring a row into the window, if it is not there. */
export function reveal(row) {
  const [px, py] = place(row);
  const margin = 24;
  if (px > margin && py > margin && px < camera.width - margin && py < camera.height - margin) return draw();
  const [x, y] = camera.place(store.positions, row);
  glide({ x, y, zoom: camera.zoom });
}

export function zoom(factor) {
  camera.zoomAt(factor);
  moved();
}

export function fit() {
  const { zoom } = new Camera(camera.dimensions, camera.stretched);
  glide({ x: 0, y: 0, zoom });
}

function glide(goal) {
  const start = { x: camera.x, y: camera.y, zoom: camera.zoom };
  const begun = performance.now();
  const step = () => {
    const part = calm.matches ? 1 : Math.min(1, (performance.now() - begun) / 220);
    const eased = 1 - (1 - part) ** 3;
    for (const name of ["x", "y", "zoom"]) camera[name] = start[name] + (goal[name] - start[name]) * eased;
    moved();
    if (part < 1) requestAnimationFrame(step);
  };
  step();
}

/** Switch the lasso on or off. */
export function encircle(on = !encircling) {
  encircling = on;
  if (!on) lasso = null;
  $("lasso").setAttribute("aria-pressed", on);
  panel.classList.toggle("encircling", on);
  draw();
}

const at = event => {
  const box = panel.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

function down(event) {
  if (!looks) return;
  overlay.setPointerCapture(event.pointerId);
  const [x, y] = at(event);
  pointers.set(event.pointerId, { x, y, travelled: 0, turning: camera.dimensions === 3 && event.button === 0 && !event.altKey });
  if (pointers.size === 1 && (encircling || event.shiftKey)) lasso = [[x, y]];
  else lasso = null;
  hover(null);
}

function move(event) {
  if (!looks) return;
  const [x, y] = at(event);
  const pointer = pointers.get(event.pointerId);
  if (!pointer) return hover(event.pointerType === "touch" ? null : nearest(x, y), x, y);
  const [dx, dy] = [x - pointer.x, y - pointer.y];
  pointer.travelled += Math.hypot(dx, dy);
  if (pointers.size === 2) {
    const [other] = [...pointers.values()].filter(one => one !== pointer);
    const factor = Math.hypot(x - other.x, y - other.y) / Math.max(1, Math.hypot(pointer.x - other.x, pointer.y - other.y));
    camera.zoomAt(factor, (x + other.x) / 2, (y + other.y) / 2);
    camera.move(dx / 2, dy / 2);
  } else if (lasso) lasso.push([x, y]);
  else if (pointer.travelled > CLICK) {
    if (pointer.turning) camera.turn(dx * 0.008, dy * 0.008);
    else camera.move(dx, dy);
  }
  Object.assign(pointer, { x, y });
  if (lasso) draw();
  else moved();
}

function up(event) {
  const pointer = pointers.get(event.pointerId);
  pointers.delete(event.pointerId);
  if (!pointer || event.type === "pointercancel") return;
  const more = event.ctrlKey || event.metaKey;
  if (lasso && pointer.travelled > CLICK) {
    const rows = encircled();
    encircle(false);
    store.select(more ? [...new Set([...store.selection, ...rows])] : rows, rows.length === 1 ? rows[0] : null);
  } else if (pointer.travelled <= CLICK && pointers.size === 0) {
    lasso = null;
    const row = nearest(pointer.x, pointer.y);
    if (row === null) more || store.select([]);
    else if (more) store.select(store.selection.includes(row) ? store.selection.filter(one => one !== row) : [...store.selection, row], row);
    else store.select([row]);
  }
  draw();
}

function hover(row, x, y) {
  if (row !== hovered) draw();
  hovered = row;
  const tip = $("tip");
  tip.hidden = row === null;
  if (row === null) return;
  const name = store.className(store.codes[row]);
  const share = store.labelled[row] ? "labelled" : percent(store.certainty[row] / 255);
  tip.replaceChildren(`Row ${row + 1}`, ...(name === null ? [] : [" · ", make("bdi", {}, shorten(name, 40)), ` ${share}`]));
  tip.style.left = `${Math.min(x + 14, camera.width - tip.offsetWidth - 6)}px`;
  tip.style.top = `${Math.min(y + 14, camera.height - tip.offsetHeight - 6)}px`;
}

export function connectMap() {
  overlay.addEventListener("pointerdown", down);
  overlay.addEventListener("pointermove", move);
  overlay.addEventListener("pointerup", up);
  overlay.addEventListener("pointercancel", up);
  overlay.addEventListener("pointerleave", () => hover(null));
  overlay.addEventListener("contextmenu", event => event.preventDefault());
  overlay.addEventListener("wheel", event => {
    event.preventDefault();
    if (!looks) return;
    const step = event.deltaMode === 1 ? 0.05 : 0.0016;
    camera.zoomAt(Math.exp(-step * event.deltaY), ...at(event));
    moved();
  }, { passive: false });
  $("lasso").addEventListener("click", () => encircle());
  $("zoom-in").addEventListener("click", () => zoom(1.5));
  $("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
  $("fit").addEventListener("click", fit);
  scheme.addEventListener("change", () => {
    readColours();
    recolour();
  });
  store.on("table", begin);
  store.on("predictions", () => {
    fresh = true;
    recolour();
  });
  store.on("selection", () => {
    recolour();
    if (camera && store.focus !== null) reveal(store.focus);
  });
  store.on("matches", recolour);
}

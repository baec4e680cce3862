// The map of all rows: which rows are drawn, how they look, where they lie.

import { Camera } from "./camera.js";
import { density } from "./density.js";
import { $, make, shorten, whole } from "./dom.js";
import { Painter as FlatPainter } from "./flat.js";
import { Painter as GLPainter } from "./gl.js";
import { Grid, inside } from "./grid.js";
import { colour, colourNumber, palette, scheme, shapeNumber } from "./looks.js";
import { drawMarks } from "./marks.js";
import { cellOf, thinned } from "./rings.js";
import { NONE, store } from "./store.js";
import { painted } from "./sync.js";

const MOST_POINTS = 250_000; // more rows in the window are drawn as a density
const MOST_SLOW = 20_000; // the same without WebGL2, or while moving on a slow machine
const MOST_SELECTED = 100; // more selected rows have one ring where they lie close together
const SLOW = 25; // milliseconds of a frame
const REST = 140; // milliseconds without movement
const UNKNOWN = 200; // certainty that rows without a prediction are drawn with; their grey is pale enough
const [LABELLED, SELECTED, FADED] = [1, 2, 4]; // marks, as in the shader

export const panel = $("map");
export const overlay = make("canvas", { className: "overlay", "aria-hidden": "true" });
let canvas = make("canvas", { className: "points", role: "img" });
panel.prepend(canvas, overlay);
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** What the pointer changes: the camera, the row under the pointer, the lasso's corners. */
export const view = { camera: null, hovered: null, lasso: null };

let painter, grid, order, looks, colours, places; // places: x, y, z in the order of drawing
let ringed = { labelled: [], selected: [] }; // numbers in that order
let cell = ""; // in which one labelled row has a ring
let faded = null; // marks of the rows that a search left out
let ratio = 1;
let limit = MOST_POINTS;
let frame = 0;
let movedAt = -Infinity;
let fresh = false; // new colours since the last frame

function begin() {
  const { dimensions, space, rows } = store.table;
  view.camera = new Camera(dimensions, space === "embedding");
  grid = dimensions === 2 ? new Grid(store.positions) : null;
  order = grid ? grid.order : shuffled(rows); // in space the first rows are a fair sample of all
  looks = new Uint8Array(4 * rows);
  places = new Float32Array(3 * rows);
  for (let i = 0; i < rows; i++) {
    for (let axis = 0; axis < dimensions; axis++) places[3 * i + axis] = store.positions[dimensions * order[i] + axis];
  }
  readColours();
  choosePainter();
  new ResizeObserver(resize).observe(panel);
  describe();
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

function choosePainter() {
  try {
    painter = new GLPainter(canvas);
    canvas.addEventListener("webglcontextlost", () => {
      paintFlat();
      recolour();
    });
  } catch (error) {
    console.warn(`The map is drawn without WebGL2: ${error.message}`);
    return paintFlat();
  }
  painter.setPositions(places);
  panel.dataset.painter = "webgl";
}

/** A canvas keeps its first kind of context, so another one takes its place. */
function paintFlat() {
  const other = canvas.cloneNode();
  canvas.replaceWith(other);
  canvas = other;
  painter = new FlatPainter(canvas);
  painter.setPositions(places);
  limit = MOST_SLOW;
  panel.dataset.painter = "flat";
}

function readColours() {
  colours = { palette: palette(), paper: colour("map"), ring: colour("ink"), chosen: colour("accent") };
}

/** Give every row its colour, shape and certainty. */
function recolour() {
  if (!view.camera || !store.codes) return;
  const { codes, certainty } = store;
  for (let i = 0; i < order.length; i++) {
    const code = codes[order[i]];
    looks[4 * i] = colourNumber(code);
    looks[4 * i + 1] = shapeNumber(code);
    looks[4 * i + 2] = code === NONE ? UNKNOWN : certainty[order[i]];
  }
  remark();
  if (grid && order.length > MOST_SLOW) painter.setDensity(grid.size, density(grid, codes, certainty, faded, colours.palette));
}

/** Give every row its marks; labelled and selected rows get a ring. */
function remark() {
  if (!view.camera || !store.codes) return;
  const marks = store.labelled.slice();
  for (const row of store.selection) marks[row] |= SELECTED;
  ringed = { labelled: [], selected: [] };
  for (let i = 0; i < order.length; i++) {
    const row = order[i];
    if (marks[row] & SELECTED) ringed.selected.push(i);
    else if (marks[row] & LABELLED) ringed.labelled.push(i);
    looks[4 * i + 3] = faded ? marks[row] | faded[row] : marks[row];
  }
  painter.setLooks(looks);
  cell = "";
  draw();
}

/** Choose anew which labelled rows have a ring, if the zoom or the labels have changed. */
function ring() {
  const sides = cellOf(view.camera);
  if (cell === String(sides)) return;
  cell = String(sides);
  const { labelled, selected } = ringed;
  const few = selected.length <= MOST_SELECTED;
  const rings = [...thinned(labelled, places, sides), ...(few ? selected : thinned(selected, places, sides))];
  panel.dataset.rings = rings.length;
  painter.setRings(Uint32Array.from(rings));
}

/** Fade all rows but those of a search. */
function fade() {
  faded = store.matches && store.matches.map(found => (found ? 0 : FADED));
  recolour();
}

function resize() {
  ratio = Math.min(devicePixelRatio, 2);
  const { width, height } = panel.getBoundingClientRect();
  if (!width || !height) return;
  Object.assign(view.camera, { width, height });
  for (const one of [canvas, overlay]) {
    one.width = Math.round(width * ratio);
    one.height = Math.round(height * ratio);
  }
  paint();
}

/** Draw in the next frame. */
export function draw() {
  if (!frame) frame = requestAnimationFrame(paint);
}

/** Draw while the camera moves, and once more at rest. */
export function moved() {
  movedAt = performance.now();
  setTimeout(draw, REST + 10);
  draw();
}

function paint(now = performance.now()) {
  cancelAnimationFrame(frame);
  frame = 0;
  if (!store.codes || !painter) return;
  const moving = now - movedAt < REST;
  if (moving) {
    requestAnimationFrame(next => {
      if (next - now > SLOW) limit = Math.max(MOST_SLOW, limit / 1.5);
    });
  }
  const most = moving || painter.slow ? limit : MOST_POINTS;
  let ranges = grid ? grid.ranges(view.camera.box) : [[0, moving ? Math.min(limit, order.length) : order.length]];
  const dense = grid !== null && ranges.reduce((sum, [start, end]) => sum + end - start, 0) > most;
  if (dense) ranges = [];
  panel.dataset.drawn = dense ? "density" : "points";
  ring();
  painter.draw({ camera: view.camera, ranges, density: dense, radius: radius(), ratio, colours });
  drawMarks({ context: overlay.getContext("2d"), view, radius: radius(), ratio, colours, place });
  if (fresh) requestAnimationFrame(painted); // the next frame begins when this one is on the screen
  fresh = false;
}

/** Points grow with the zoom, and are smaller in large tables. */
function radius() {
  const base = Math.min(6, Math.max(1.2, 13 * order.length ** -0.18 - 0.6));
  return Math.min(8, base * view.camera.zoom ** 0.3);
}

function describe() {
  const { rows, space, dimensions, axes } = store.table;
  canvas.setAttribute("aria-label", `Map of ${rows} rows, coloured by predicted class. The table lists the same rows.`);
  if (space === "embedding") return $("caption").replaceChildren("similar rows lie near each other");
  const names = axes.map((axis, i) => make("bdi", {}, `${"xyz"[i]}: ${shorten(axis, 40)}`));
  $("caption").replaceChildren(...names.flatMap(name => [name, " · "]), dimensions === 3 ? "drag to turn" : `${whole(rows)} rows`);
}

/** Return the pixels of a row, from the upper left corner of the map. */
export function place(row) {
  return view.camera.toScreen(...view.camera.place(store.positions, row));
}

/** Call `look(row, x, y)` for the rows that may lie in a box. */
function visit(box, look) {
  if (grid) return grid.visit(box, look);
  const places = view.camera.places(store.positions);
  for (let row = 0; row < order.length; row++) look(row, places[2 * row], places[2 * row + 1]);
}

/** Return the row nearest to a pixel within a number of pixels, or null. */
export function nearest(px, py, reach) {
  let best = null;
  let least = reach ** 2;
  const [left, high] = view.camera.toMap(px - reach, py - reach);
  const [right, low] = view.camera.toMap(px + reach, py + reach);
  const [sx, sy] = view.camera.scale;
  const [cx, cy] = view.camera.toMap(px, py);
  visit({ left, right, low, high }, (row, x, y) => {
    const away = ((x - cx) * sx) ** 2 + ((y - cy) * sy) ** 2;
    if (away < least && !(faded && faded[row])) [best, least] = [row, away];
  });
  return best;
}

/** Return the rows within a polygon of pixels. */
export function within(corners) {
  const polygon = corners.map(([x, y]) => view.camera.toMap(x, y));
  const [xs, ys] = [polygon.map(([x]) => x), polygon.map(([, y]) => y)];
  const box = { left: Math.min(...xs), right: Math.max(...xs), low: Math.min(...ys), high: Math.max(...ys) };
  const rows = [];
  visit(box, (row, x, y) => {
    if (x < box.left || x > box.right || y < box.low || y > box.high) return;
    if (!(faded && faded[row]) && inside(polygon, x, y)) rows.push(row);
  });
  return rows.sort((a, b) => a - b);
}

/** Bring a row into the window, if it is not there. */
function reveal(row) {
  const [px, py] = place(row);
  const margin = 24;
  const { width, height, zoom } = view.camera;
  if (px > margin && py > margin && px < width - margin && py < height - margin) return;
  const [x, y] = view.camera.place(store.positions, row);
  glide({ x, y, zoom });
}

export function zoom(factor) {
  if (!view.camera) return;
  view.camera.zoomAt(factor);
  moved();
}

/** Show all rows. */
export function fit() {
  if (!view.camera) return;
  const { x, y, zoom } = new Camera(view.camera.dimensions, view.camera.stretched);
  glide({ x, y, zoom });
}

function glide(goal) {
  const { x, y, zoom } = view.camera;
  const start = { x, y, zoom };
  const begun = performance.now();
  const step = () => {
    const part = calm.matches ? 1 : Math.min(1, (performance.now() - begun) / 220);
    const eased = 1 - (1 - part) ** 3;
    for (const name of ["x", "y", "zoom"]) view.camera[name] = start[name] + (goal[name] - start[name]) * eased;
    moved();
    if (part < 1) requestAnimationFrame(step);
  };
  step();
}

export function connectMap() {
  scheme.addEventListener("change", () => {
    readColours();
    recolour();
  });
  store.on("map", () => {
    begin();
    recolour();
  });
  store.on("predictions", () => {
    fresh = true;
    recolour();
  });
  store.on("selection", () => {
    remark();
    if (view.camera && store.focus !== null) reveal(store.focus);
  });
  store.on("matches", fade);
}

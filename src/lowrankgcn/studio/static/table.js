// The table of all rows. Only rows and columns in the window are in the document; the server sorts and searches.

import { binary, get } from "./api.js";
import { columnsBetween, edge, openColumns, spaced, widthOf } from "./columns.js";
import { cellsOf, keep } from "./contents.js";
import { $, foreign, make, percent, shorten, whenReleased, whole } from "./dom.js";
import { sign } from "./looks.js";
import { say } from "./message.js";
import { drawn, pictured, sent } from "./picture.js";
import { NONE, store } from "./store.js";

const [LOW, HIGH] = [28, 48]; // pixels of a row with one line, and with two lines of text; as in style.css
const PAGE = 100; // rows per request
const TALLEST = 8_000_000; // pixels: browsers do not lay out much taller elements
const FIXED = [
  { name: () => "row", sort: "row" },
  { name: () => store.table.target, sort: "prediction" },
  { name: () => "certainty", sort: "uncertainty", reversed: true }, // the most uncertain first: certainty ascends
];

const grid = $("grid");
const body = $("body");
let order = { sort: "row", descending: 0, search: "", show: "" };
let pages = new Map(); // page → its rows, or null while they are on their way
let stale = new Map(); // the pages before the last change: shown until the new ones arrive
let total = 0;
let generation = 0;
let height = LOW; // pixels of a row
let anchor = null; // where a selection with Shift begins

// ---------------------------------------------------------------- rows from the server

/** Forget the rows: their order or contents changed. */
function renew() {
  generation++;
  stale = new Map([...stale, ...pages].filter(([, rows]) => rows));
  pages = new Map();
  render();
}

async function load(page) {
  pages.set(page, null);
  const asked = generation;
  const query = new URLSearchParams({ ...order, offset: page * PAGE, count: PAGE });
  try {
    const answer = await get(`rows?${query}`);
    if (asked !== generation) return;
    pages.set(page, answer.rows);
    const names = store.table.columns.map(({ name }) => name);
    for (const { row, cells } of answer.rows) keep(row, cells.map((text, i) => [names[i], text]), true);
    stale.delete(page);
    if (total !== answer.total) {
      total = answer.total;
      stale.clear();
    }
    found();
    render();
  } catch (error) {
    if (asked === generation) pages.delete(page);
    if (error.status) say(error.message);
  }
}

function entry(index) {
  const page = Math.floor(index / PAGE);
  if (!pages.has(page)) load(page);
  return (pages.get(page) ?? stale.get(page))?.[index % PAGE] ?? null;
}

function found() {
  $("select-shown").hidden = total === 0 || !(order.search || order.show);
  $("select-shown").textContent = `Select all ${whole(total)}`;
  $("found").textContent = order.search || order.show ? `${whole(total)} of ${whole(store.table.rows)} rows found` : `${whole(total)} rows`;
}

// ---------------------------------------------------------------- what is in the window

const content = () => Math.max(1, grid.clientHeight - LOW); // pixels below the head
const tall = () => Math.min(TALLEST, total * height);

/** Index of the first visible row; beyond TALLEST the scroll bar is a share of all rows. */
function first() {
  if (tall() === total * height) return Math.floor(grid.scrollTop / height);
  const share = grid.scrollTop / Math.max(1, tall() - content());
  return Math.round(share * Math.max(0, total - Math.floor(content() / height)));
}

function scrollTo(index) {
  const visible = Math.max(1, Math.floor(content() / height));
  const top = first();
  let wanted = top;
  if (index < top) wanted = index;
  if (index >= top + visible) wanted = index - visible + 1;
  if (wanted === top) return;
  const exact = tall() === total * height;
  grid.scrollTop = exact ? wanted * height : (wanted / Math.max(1, total - visible)) * (tall() - content());
}

function columnsInWindow() {
  const fixed = $("head").firstElementChild?.offsetWidth ?? 0;
  return columnsBetween(grid.scrollLeft, grid.scrollLeft + Math.max(1, grid.clientWidth - fixed));
}

const render = () => whenReleased(grid, paint);

function paint() {
  if (!store.table || !store.codes) return;
  if (!pages.has(0) && total === 0) load(0);
  const columns = columnsInWindow();
  header(columns);
  const top = first();
  const shown = Math.min(total - top, Math.ceil(content() / height) + 1);
  body.style.height = `${tall()}px`;
  const offset = tall() === total * height ? top * height : grid.scrollTop;
  const lines = Array.from({ length: Math.max(0, shown) }, (_, i) => line(top + i, offset + i * height, columns));
  body.replaceChildren(...lines);
  grid.setAttribute("aria-rowcount", total + 1);
  grid.setAttribute("aria-colcount", FIXED.length + store.table.columns.length);
  const active = lines.find(one => one.classList.contains("focus"));
  if (active) grid.setAttribute("aria-activedescendant", active.id);
  else grid.removeAttribute("aria-activedescendant");
}

function header(columns) {
  const cell = (name, sort, index, reversed, ...more) => {
    const descending = Boolean(order.descending) !== Boolean(reversed);
    const direction = order.sort !== sort ? "none" : descending ? "descending" : "ascending";
    const button = make("button", { type: "button", tabIndex: -1, title: name.slice(0, 200) }, make("bdi", { dir: "auto" }, shorten(name, 60)));
    button.addEventListener("click", () => sortBy(sort));
    return make("div", { role: "columnheader", className: "cell", "aria-sort": direction, "aria-colindex": index + 1 }, button, ...more);
  };
  const fixed = make("div", { className: "fixed", role: "none" }, ...FIXED.map(({ name, sort, reversed }, i) => cell(name(), sort, i, reversed)));
  const others = columns.map(i => {
    const { name } = store.table.columns[i];
    const head = cell(name, `column:${name}`, FIXED.length + i, false, edge(i));
    head.style.width = `${widthOf(i)}px`;
    head.dataset.column = i;
    return head;
  });
  $("head").replaceChildren(fixed, ...spaced(columns, others));
}

function line(index, top, columns) {
  const data = entry(index);
  const element = make("div", { role: "row", className: "line", id: `line-${index}`, "aria-rowindex": index + 2 });
  element.style.transform = `translateY(${top}px)`;
  if (!data) {
    element.append(make("div", { role: "gridcell", className: "fixed none" }, "…"));
    return element;
  }
  const { row } = data;
  element.dataset.row = row;
  const selected = row === store.focus || selectedRows().has(row);
  element.setAttribute("aria-selected", selected);
  element.classList.toggle("selected", selected);
  element.classList.toggle("focus", row === store.focus);
  element.classList.toggle("labelled", store.labelled[row] === 1);
  const code = store.codes[row];
  const cell = (column, ...children) => make("div", { role: "gridcell", className: "cell", "aria-colindex": column + 1 }, ...children);
  const name = store.className(code);
  const share = store.certainty[row] / 255;
  const bar = make("span", { className: `back-${store.labelled[row] ? "label" : "share"}` });
  bar.style.setProperty("--share", code === NONE ? 0 : share);
  element.append(
    make(
      "div",
      { className: "fixed", role: "none" },
      cell(0, ...thumbnail(row), whole(row + 1)),
      cell(1, ...(name === null ? [make("span", { className: "none" }, "–")] : [sign(code), foreign(name, 60)])),
      cell(2, bar, store.labelled[row] ? "label" : code === NONE ? "" : percent(share)),
    ),
  );
  const cells = columns.map(i => {
    const { show } = store.table.columns[i];
    const seen = show === "image" && data.cells[i] !== null;
    const box = cell(FIXED.length + i, seen ? sent(row, i, HIGH - 8) : foreign(data.cells[i], 240));
    box.classList.add(`is-${show}`);
    box.style.width = `${widthOf(i)}px`;
    return box;
  });
  element.append(...spaced(columns, cells));
  return element;
}

/** Draw a row whose pixels are columns. */
function thumbnail(row) {
  const cells = store.table.pixels && cellsOf(row);
  return cells ? [drawn(cells, HIGH - 10)] : [];
}

let known = { list: null, set: new Set() };
function selectedRows() {
  if (known.list !== store.selection) known = { list: store.selection, set: new Set(store.selection) };
  return known.set;
}

// ---------------------------------------------------------------- order and search

function sortBy(sort) {
  const descending = order.sort === sort ? 1 - order.descending : Number(sort === "uncertainty");
  order = { ...order, sort, descending };
  $("uncertain").setAttribute("aria-pressed", sort === "uncertainty" && descending === 1);
  restart();
}

function restart() {
  stale.clear();
  pages.clear();
  total = 0;
  grid.scrollTop = 0;
  renew();
}

/** Show only rows that contain the text, here and on the map. */
export const search = text => narrow({ search: text.trim() });

/** Show only rows that a filter leaves, here and on the map. */
export const show = name => narrow({ show: name });

async function narrow(change) {
  const before = order;
  order = { ...order, ...change };
  if (before.search === order.search && before.show === order.show) return;
  restart();
  await match();
}

/** Ask which rows search and filter leave. */
async function match() {
  const { search: text, show } = order;
  try {
    const found = text || show ? new Uint8Array(await binary(`search?${new URLSearchParams({ text, show })}`)) : null;
    if (text !== order.search || show !== order.show) return;
    store.matches = found;
    store.changed("matches");
  } catch (error) {
    if (error.status) say(error.message);
  }
}

// ---------------------------------------------------------------- keys and pointer

function indexOf(row) {
  for (const [page, rows] of pages) {
    const place = rows ? rows.findIndex(one => one.row === row) : -1;
    if (place >= 0) return page * PAGE + place;
  }
  return order.sort === "row" && !order.search && !order.descending && row !== null ? row : -1;
}

async function rowAt(index) {
  const page = Math.floor(index / PAGE);
  if (!pages.get(page)) await load(page);
  return pages.get(page)?.[index % PAGE]?.row ?? null;
}

/** Move the focus by a number of rows; `extend` keeps what is selected. */
export async function moveBy(step, extend = false) {
  if (!total) return;
  const current = indexOf(store.focus);
  const wanted = current < 0 && Number.isFinite(step) ? first() : current + step;
  const index = Math.min(total - 1, Math.max(0, wanted));
  scrollTo(index);
  const row = await rowAt(index);
  if (row === null) return;
  await choose(row, index, extend);
}

/** Rows that fit into the window. */
export const windowRows = () => Math.max(1, Math.floor(content() / height) - 1);

async function choose(row, index, extend) {
  if (!extend || anchor === null) {
    anchor = index;
    return store.select([row], row, "table");
  }
  const [start, end] = [Math.min(anchor, index), Math.max(anchor, index)];
  for (let page = Math.floor(start / PAGE); page <= Math.floor(end / PAGE); page++) if (!pages.get(page)) await load(page);
  const rows = [];
  for (let i = start; i <= end; i++) if (entry(i)) rows.push(entry(i).row);
  store.select(rows, row);
}

export function connectTable() {
  let frame = 0;
  grid.addEventListener("scroll", () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      render();
    });
  });
  new ResizeObserver(render).observe(grid);
  grid.addEventListener("click", event => {
    const target = event.target.closest(".line");
    if (!target?.dataset.row) return;
    const row = Number(target.dataset.row);
    const index = Number(target.id.slice("line-".length));
    if (event.ctrlKey || event.metaKey) store.toggle(row);
    else choose(row, index, event.shiftKey);
  });
  $("uncertain").addEventListener("click", () => {
    sortBy($("uncertain").getAttribute("aria-pressed") === "true" ? "row" : "uncertainty");
  });
  let timer = 0;
  $("search").addEventListener("input", event => {
    clearTimeout(timer);
    timer = setTimeout(() => search(event.target.value), 150);
  });
  let version = -1;
  store.on("state", () => {
    if (store.state.version === version) return;
    version = store.state.version;
    // Classes and certainties come with the predictions: only an order by them is out of date.
    if (order.show || FIXED.some(({ sort }) => sort === order.sort && sort !== "row")) renew();
    else render();
    if (order.show) match();
  });
  store.on("table", () => {
    const two = pictured() || store.table.columns.some(({ show }) => show === "text");
    height = two ? HIGH : LOW;
    grid.classList.toggle("two", two);
    grid.classList.toggle("drawn", Boolean(store.table.pixels));
    openColumns(paint); // at once: columns are resized while the pointer is pressed
  });
  store.on("table predictions", render);
  store.on("selection", () => {
    const index = indexOf(store.focus);
    if (index >= 0) scrollTo(index);
    render();
  });
}

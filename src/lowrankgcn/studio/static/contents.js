// Cells of rows, kept so that a row is on the screen as soon as it is selected. Cells do not change while a server runs.

import { get } from "./api.js";

const MOST = 5000; // rows
const known = new Map(); // row → [column, text] pairs
const links = new Map(); // row → rows that a given graph joins to it

/** Return the cells of a row; undefined if they are not here yet. */
export const cellsOf = row => known.get(row);

/** Return the rows that a given graph joins to a row; undefined if they are not here yet. */
export const linksOf = row => links.get(row);

/** Keep the cells of a row; shortened ones do not replace others. */
export function keep(row, cells, shortened = false) {
  if (shortened && known.has(row)) return;
  if (known.size >= MOST) known.delete(known.keys().next().value);
  known.set(row, cells);
}

/** Ask for a row: cells, label and probabilities. Cells that are complete stay the same object. */
export async function load(row) {
  const data = await get(`row/${row}`);
  const before = known.get(row);
  if (JSON.stringify(before) === JSON.stringify(data.cells)) data.cells = before;
  keep(row, data.cells);
  links.set(row, data.links);
  return data;
}

/** Ask for rows that will be selected soon. */
export function prefetch(rows) {
  for (const row of rows) if (!known.has(row)) load(row).catch(() => {}); // asked again when it is selected
}

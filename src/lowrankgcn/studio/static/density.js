// A picture of how densely rows lie, for tables with too many rows to draw: one pixel per cell of the grid.

import { colourNumber, palette } from "./looks.js";

/** Return red, green, blue and opacity per cell: the mean colour of its rows, stronger where there are more. */
export function density(grid, codes, certainty, faded) {
  const colours = palette();
  const cells = grid.size ** 2;
  const pixels = new Uint8Array(4 * cells);
  const counts = new Float32Array(cells);
  let most = 0;
  for (let cell = 0; cell < cells; cell++) {
    let [red, green, blue, weight] = [0, 0, 0, 0];
    for (let i = grid.starts[cell]; i < grid.starts[cell + 1]; i++) {
      const row = grid.order[i];
      if (faded && faded[row]) continue;
      const colour = colours[colourNumber(codes[row])];
      const share = 40 + certainty[row];
      red += share * colour[0];
      green += share * colour[1];
      blue += share * colour[2];
      weight += share;
    }
    if (!weight) continue;
    counts[cell] = weight / 295;
    most = Math.max(most, counts[cell]);
    pixels.set([red / weight, green / weight, blue / weight], 4 * cell);
  }
  const full = Math.log1p(Math.max(most, 8) / 2);
  for (let cell = 0; cell < cells; cell++) {
    if (counts[cell]) pixels[4 * cell + 3] = Math.min(255, 60 + (195 * Math.log1p(counts[cell])) / full);
  }
  return pixels;
}

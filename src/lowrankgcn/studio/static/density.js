// A picture of how densely rows lie, for tables with too many rows to draw: one pixel per cell of the grid.

import { colourNumber } from "./looks.js";

const FAINT = 40; // weight of a row without any certainty; certainty adds up to 255

/** Return red, green, blue and opacity per cell: the mean colour of its rows, stronger where there are more. */
export function density(grid, codes, certainty, faded, palette) {
  const { size, starts, order } = grid;
  const cells = size ** 2;
  const pixels = new Uint8Array(4 * cells);
  const weights = new Float32Array(cells);
  let most = 0;
  for (let cell = 0; cell < cells; cell++) {
    let red = 0, green = 0, blue = 0, weight = 0;
    for (let i = starts[cell]; i < starts[cell + 1]; i++) {
      const row = order[i];
      if (faded !== null && faded[row]) continue;
      const colour = palette[colourNumber(codes[row])];
      const share = FAINT + certainty[row];
      red += share * colour[0];
      green += share * colour[1];
      blue += share * colour[2];
      weight += share;
    }
    if (weight === 0) continue;
    weights[cell] = weight / (FAINT + 255);
    if (weights[cell] > most) most = weights[cell];
    pixels[4 * cell] = red / weight;
    pixels[4 * cell + 1] = green / weight;
    pixels[4 * cell + 2] = blue / weight;
  }
  // Opacity grows with the logarithm of the number of rows.
  const full = Math.log1p(Math.max(most, 8) / 2);
  for (let cell = 0; cell < cells; cell++) {
    if (weights[cell] > 0) pixels[4 * cell + 3] = Math.min(255, 60 + (195 * Math.log1p(weights[cell])) / full);
  }
  return pixels;
}

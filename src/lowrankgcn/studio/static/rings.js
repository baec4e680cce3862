// Which labelled rows get a ring: one of those that lie close together, so that the rings of many labels do not hide their colours.

const CELL = 16; // pixels, about the size of a ring

/** Return the sides of a cell in units of the map; powers of two, so that rings stay while the map is moved. */
export function cellOf(camera) {
  return camera.scale.map(scale => 2 ** Math.round(Math.log2(CELL / scale)));
}

/** Return the rows of `labelled` with a ring; `positions` has x, y, z of every row in the order of drawing. */
export function thinned(labelled, positions, [width, height]) {
  const taken = new Set();
  return labelled.filter(i => {
    const [x, y, z] = positions.subarray(3 * i, 3 * i + 3);
    const cell = `${Math.floor(x / width)} ${Math.floor(y / height)} ${Math.floor(z / width)}`;
    return !taken.has(cell) && taken.add(cell);
  });
}

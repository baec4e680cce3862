// Rows sorted into the cells of a square grid over the map: what lies near a point, in a lasso, in the window.

export class Grid {
  /** @param {Float32Array} places  x and y of every row, from −1 to 1 */
  constructor(places) {
    const rows = places.length / 2;
    this.places = places;
    this.size = 2 ** Math.min(10, Math.max(3, Math.round(Math.log2(Math.sqrt(rows)))));
    const cells = new Uint32Array(rows);
    this.starts = new Uint32Array(this.size ** 2 + 1);
    for (let row = 0; row < rows; row++) {
      cells[row] = this.line(places[2 * row + 1]) * this.size + this.line(places[2 * row]);
      this.starts[cells[row] + 1]++;
    }
    for (let cell = 0; cell < this.size ** 2; cell++) this.starts[cell + 1] += this.starts[cell];
    this.order = new Uint32Array(rows); // rows by cell
    const next = this.starts.slice();
    for (let row = 0; row < rows; row++) this.order[next[cells[row]]++] = row;
  }

  /** Return the number of the grid line left of (or below) a coordinate. */
  line(coordinate) {
    return Math.min(this.size - 1, Math.max(0, Math.floor((coordinate + 1) * 0.5 * this.size)));
  }

  /** Return ranges [start, end) of `order` whose cells meet the box. */
  ranges({ left, right, low, high }) {
    const [first, last] = [this.line(left), this.line(right)];
    const found = [];
    for (let y = this.line(low); y <= this.line(high); y++) {
      const start = this.starts[y * this.size + first];
      const end = this.starts[y * this.size + last + 1];
      if (start === end) continue;
      const previous = found[found.length - 1];
      if (previous && previous[1] === start) previous[1] = end;
      else found.push([start, end]);
    }
    return found;
  }

  /** Call `visit(row, x, y)` for rows of cells that meet the box. */
  visit(box, visit) {
    for (const [start, end] of this.ranges(box)) {
      for (let i = start; i < end; i++) {
        const row = this.order[i];
        visit(row, this.places[2 * row], this.places[2 * row + 1]);
      }
    }
  }
}

/** Tell whether a point lies in a polygon given as [x, y] pairs. */
export function inside(polygon, x, y) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [ax, ay] = polygon[i];
    const [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}

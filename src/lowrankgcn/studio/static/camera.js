// From coordinates of rows (−1 to 1) to pixels of the map and back. Clouds of points in space can be turned.

const MARGIN = 0.92; // share of the window that all rows fill
const FARTHEST = 0.5;
const NEAREST = 2000;

export class Camera {
  constructor(dimensions, stretched) {
    this.dimensions = dimensions;
    this.stretched = stretched; // both axes fill the window; otherwise they have one scale
    this.width = this.height = 1;
    this.fit();
    this.turning = [1, 0, 0, 0, 1, 0, 0, 0, 1]; // rotation, row by row
    if (dimensions === 3) this.turn(0.6, -0.5);
  }

  fit() {
    this.x = this.y = 0;
    this.zoom = this.dimensions === 3 ? 0.75 : 1;
  }

  /** Pixels per unit along both axes. */
  get scale() {
    const half = [this.width / 2, this.height / 2];
    const fitting = this.stretched ? half : [Math.min(...half), Math.min(...half)];
    return fitting.map(size => size * MARGIN * this.zoom);
  }

  toScreen(x, y) {
    const [sx, sy] = this.scale;
    return [this.width / 2 + (x - this.x) * sx, this.height / 2 - (y - this.y) * sy];
  }

  toMap(px, py) {
    const [sx, sy] = this.scale;
    return [this.x + (px - this.width / 2) / sx, this.y - (py - this.height / 2) / sy];
  }

  /** The part of the map in the window. */
  get box() {
    const [left, high] = this.toMap(0, 0);
    const [right, low] = this.toMap(this.width, this.height);
    return { left, right, low, high };
  }

  move(dx, dy) {
    const [sx, sy] = this.scale;
    this.x -= dx / sx;
    this.y += dy / sy;
  }

  /** Zoom so that what lies under a pixel stays there. */
  zoomAt(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toMap(px, py);
    this.zoom = Math.min(NEAREST, Math.max(FARTHEST, this.zoom * factor));
    const [nx, ny] = this.toMap(px, py);
    this.x += x - nx;
    this.y += y - ny;
  }

  /** Turn the cloud by two angles: around the vertical and the horizontal of the screen. */
  turn(yaw, pitch) {
    const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    const step = [cy, 0, sy, sp * sy, cp, -sp * cy, -cp * sy, sp, cp * cy];
    const old = this.turning;
    this.turning = step.map((_, i) => {
      const [r, c] = [3 * Math.floor(i / 3), i % 3];
      return step[r] * old[c] + step[r + 1] * old[3 + c] + step[r + 2] * old[6 + c];
    });
  }

  /** Place of a row on the map, before pan and zoom. */
  place(positions, row) {
    if (this.dimensions === 2) return [positions[2 * row], positions[2 * row + 1]];
    const [x, y, z] = positions.subarray(3 * row, 3 * row + 3);
    const t = this.turning;
    return [t[0] * x + t[1] * y + t[2] * z, t[3] * x + t[4] * y + t[5] * z];
  }

  /** Places of all rows. */
  places(positions) {
    if (this.dimensions === 2) return positions;
    const rows = positions.length / 3;
    const found = new Float32Array(2 * rows);
    const [a, b, c, d, e, f] = this.turning;
    for (let row = 0; row < rows; row++) {
      const [x, y, z] = [positions[3 * row], positions[3 * row + 1], positions[3 * row + 2]];
      found[2 * row] = a * x + b * y + c * z;
      found[2 * row + 1] = d * x + e * y + f * z;
    }
    return found;
  }
}

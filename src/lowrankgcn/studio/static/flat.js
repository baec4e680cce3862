// Draws rows on an ordinary canvas where WebGL2 is missing; the same interface as the painter in gl.js.

import { SHAPES, opacity } from "./looks.js";

const css = colour => `rgb(${colour.join(" ")})`;

export class Painter {
  /** Fewer points are drawn than with WebGL2; the density stands for the others. */
  slow = true;

  constructor(canvas) {
    this.canvas = canvas;
    // The option keeps the canvas out of the graphics process, which draws paths slowly without a graphics card.
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.image = document.createElement("canvas");
    this.shapes = SHAPES.map(path => new Path2D(path));
  }

  setPositions(positions) {
    this.positions = positions;
  }

  setLooks(looks) {
    this.looks = looks;
  }

  setRings(rings) {
    this.rings = rings;
  }

  setDensity(size, pixels) {
    this.image.width = this.image.height = size;
    this.image.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels), size), 0, 0);
  }

  draw({ camera, ranges, density, radius, ratio, colours }) {
    const context = this.context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    if (density) {
      // The first line of the image is the lowest: draw it upside down.
      const [left, bottom] = camera.toScreen(-1, -1);
      const [right, top] = camera.toScreen(1, 1);
      const step = ratio / this.image.width;
      context.setTransform(step * (right - left), 0, 0, step * (top - bottom), ratio * left, ratio * bottom);
      context.drawImage(this.image, 0, 0);
    }
    const styles = colours.palette.map(css);
    for (const [start, end] of ranges) {
      for (let i = start; i < end; i++) this.point(camera, i, radius, ratio, styles);
    }
    for (const i of this.rings) this.ring(camera, i, Math.max(radius, 2.5) + 1, ratio, styles, colours);
    context.globalAlpha = 1;
  }

  at(camera, i) {
    const [x, y] = camera.place(this.positions.subarray(3 * i, 3 * i + 3), 0);
    return camera.toScreen(x, y);
  }

  point(camera, i, radius, ratio, styles) {
    const [x, y] = this.at(camera, i);
    const [colour, shape, certainty, marks] = this.looks.subarray(4 * i, 4 * i + 4);
    const size = radius * ratio;
    this.context.globalAlpha = opacity(certainty) * (marks & 4 ? 0.12 : 1);
    this.context.fillStyle = styles[colour];
    this.context.setTransform(size, 0, 0, size, x * ratio, y * ratio);
    this.context.fill(this.shapes[shape]);
  }

  ring(camera, i, radius, ratio, styles, colours) {
    const context = this.context;
    const [x, y] = this.at(camera, i);
    const [colour, shape, , marks] = this.looks.subarray(4 * i, 4 * i + 4);
    context.globalAlpha = marks & 4 ? 0.3 : 1;
    for (const [grown, style] of [[2.6, css(marks & 2 ? colours.chosen : colours.ring)], [1, css(colours.paper)], [0, styles[colour]]]) {
      const size = (radius + grown) * ratio;
      context.fillStyle = style;
      context.setTransform(size, 0, 0, size, x * ratio, y * ratio);
      context.fill(this.shapes[shape]);
    }
  }
}

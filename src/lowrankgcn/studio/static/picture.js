// The pictures of a row: files and bytes that the server sends, and numbers that are pixels.

import { foreign, make } from "./dom.js";
import { store } from "./store.js";

/** Return whether rows have a picture. */
export const pictured = () => Boolean(store.table.pixels) || store.table.columns.some(({ show }) => show === "image");

/** Return the pictures of a row whose cells are known, with `size` pixels at the longest side. */
export function pictures(row, cells, size) {
  const found = store.table.columns.flatMap(({ show }, i) => (show === "image" && cells[i][1] !== null ? [sent(row, i, size)] : []));
  if (store.table.pixels) found.unshift(drawn(cells, size));
  return found;
}

/** Return the picture in a cell. */
export function sent(row, column, size) {
  const name = store.table.columns[column].name;
  const picture = make("img", { alt: `${name} of row ${row + 1}`, decoding: "async" });
  picture.style.maxWidth = picture.style.maxHeight = `min(${size}px, 100%)`;
  picture.addEventListener("error", async () => {
    const answer = await fetch(picture.src).then(one => (one.ok ? null : one.json())).catch(() => null);
    picture.replaceWith(make("span", { className: "none", title: answer?.error ?? "" }, size > 100 ? foreign(answer?.error ?? "This picture cannot be shown.") : "no picture"));
  });
  picture.src = `api/picture/${row}/${column}`;
  return picture;
}

/** Draw the pixels of a row; missing ones are transparent. */
export function drawn(cells, size) {
  const { columns, height, width, channels, low, high } = store.table.pixels;
  const canvas = make("canvas", { width, height, role: "img", "aria-label": `picture of ${height} × ${width} pixels` });
  const image = new ImageData(width, height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    let present = true;
    for (let channel = 0; channel < 3; channel++) {
      const text = cells[columns[pixel * channels + (channels === 3 ? channel : 0)]][1];
      present &&= text !== null;
      image.data[4 * pixel + channel] = (255 * (Number(text) - low)) / (high - low); // clamped
    }
    image.data[4 * pixel + 3] = present ? 255 : 0;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  const scale = size / Math.max(width, height);
  canvas.style.width = `${Math.round(width * scale)}px`;
  return canvas;
}

/** Mark the pixels that speak for a class (blue) and against it (orange) on a drawn picture. */
export function highlighted(cells, amounts, size) {
  const { height, width } = store.table.pixels;
  const marks = make("canvas", { className: "region", width, height });
  const context = marks.getContext("2d");
  const colours = ["for", "against"].map(side => getComputedStyle(document.documentElement).getPropertyValue(side === "for" ? "--class-0" : "--class-1"));
  const smooth = blurred(amounts, height, width);
  const most = Math.max(...smooth.map(Math.abs), 1e-12);
  smooth.forEach((amount, i) => {
    context.globalAlpha = 0.75 * (Math.abs(amount) / most) ** 1.2;
    context.fillStyle = colours[amount >= 0 ? 0 : 1];
    context.fillRect(i % width, Math.floor(i / width), 1, 1);
  });
  const picture = drawn(cells, size);
  marks.style.width = picture.style.width;
  return make("div", { className: "stack" }, picture, marks);
}

/** Average every pixel with its neighbours: a region is seen, single pixels are not. */
function blurred(amounts, height, width) {
  return amounts.map((_, i) => {
    const [y, x] = [Math.floor(i / width), i % width];
    let [sum, count] = [0, 0];
    for (let v = Math.max(0, y - 1); v <= Math.min(height - 1, y + 1); v++) {
      for (let u = Math.max(0, x - 1); u <= Math.min(width - 1, x + 1); u++) {
        sum += amounts[v * width + u];
        count++;
      }
    }
    return sum / count;
  });
}

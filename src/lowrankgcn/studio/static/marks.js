// What lies on top of the points: edges of a given graph, rows to label next, the row in focus, the row under the pointer, the lasso.

import { linksOf } from "./contents.js";
import { store } from "./store.js";

const css = colour => `rgb(${colour.join(" ")})`;

export function drawMarks({ context, view, radius, ratio, colours, place }) {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, view.camera.width, view.camera.height);
  const circle = (row, size, width, colour) => {
    const [x, y] = place(row);
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.lineWidth = width;
    context.strokeStyle = css(colour);
    context.stroke();
    return [x, y];
  };
  const joined = view.hovered ?? store.focus;
  context.lineWidth = 1;
  context.strokeStyle = css(colours.ring);
  context.globalAlpha = 0.45;
  context.beginPath();
  for (const row of linksOf(joined) ?? []) {
    context.moveTo(...place(joined));
    context.lineTo(...place(row));
  }
  context.stroke();
  context.globalAlpha = 1;
  const size = radius + 4.5;
  context.font = "600 11px system-ui, sans-serif";
  context.textBaseline = "middle";
  store.state.suggestions.forEach((row, number) => {
    if (store.labelled[row]) return;
    circle(row, size, 4, colours.paper);
    const [x, y] = circle(row, size, 1.6, colours.chosen);
    context.lineWidth = 3;
    context.strokeStyle = css(colours.paper);
    context.fillStyle = css(colours.chosen);
    context.strokeText(number + 1, x + size + 2, y - size + 1);
    context.fillText(number + 1, x + size + 2, y - size + 1);
  });
  if (view.hovered !== null) circle(view.hovered, size - 1.5, 1.5, colours.ring);
  if (store.focus !== null) {
    circle(store.focus, size + 2, 5, colours.paper);
    circle(store.focus, size + 2, 2.5, colours.chosen);
  }
  if (view.lasso) drawLasso(context, view.lasso, colours.chosen);
}

function drawLasso(context, corners, colour) {
  context.beginPath();
  for (const [x, y] of corners) context.lineTo(x, y);
  context.closePath();
  context.fillStyle = `rgb(${colour.join(" ")} / .12)`;
  context.strokeStyle = css(colour);
  context.lineWidth = 1.5;
  context.fill();
  context.stroke();
}

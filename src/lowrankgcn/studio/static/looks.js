// How a class looks: one of twenty colours, and another shape from the twenty-first class on.

import { NONE } from "./store.js";

export const COLOURS = 20; // --class-0 to --class-19 in colours.css; --class-20 is for rows without a prediction

// Paths in a box from −1 to 1: circle, square, triangle, diamond, cross, plus.
export const SHAPES = [
  "M.8 0A.8.8 0 1 1 -.8 0A.8.8 0 1 1 .8 0Z",
  "M-.7-.7H.7V.7H-.7Z",
  "M0-.95L.9.65H-.9Z",
  "M0-1L1 0L0 1L-1 0Z",
  "M-.85-.5L-.5-.85L0-.35L.5-.85L.85-.5L.35 0L.85.5L.5.85L0 .35L-.5.85L-.85.5L-.35 0Z",
  "M-.28-.95H.28V-.28H.95V.28H.28V.95H-.28V.28H-.95V-.28H-.28Z",
];

export const scheme = matchMedia("(prefers-color-scheme: dark)");

export const colourNumber = code => (code === NONE ? COLOURS : code % COLOURS);
export const shapeNumber = code => (code === NONE ? 0 : Math.floor(code / COLOURS) % SHAPES.length);

/** Return a colour of the style sheet as red, green and blue from 0 to 255. */
export function colour(name) {
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map(start => parseInt(value.slice(start, start + 2), 16));
}

export const palette = () => Array.from({ length: COLOURS + 1 }, (_, number) => colour(`class-${number}`));

/** Certainty is a probability from 0 to 255; a guess is faint, not invisible. */
export const opacity = certainty => 0.22 + 0.78 * (certainty / 255) ** 1.5;

/** Draw the sign of a class for legends and tables. */
export function sign(code) {
  const names = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(names, "svg");
  picture.setAttribute("viewBox", "-1.1 -1.1 2.2 2.2");
  picture.setAttribute("class", "sign");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(names, "path");
  path.setAttribute("d", SHAPES[shapeNumber(code)]);
  path.setAttribute("class", `fill-${colourNumber(code)}`);
  picture.append(path);
  return picture;
}

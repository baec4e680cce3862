// Small helpers for elements. Text from the table is only ever inserted as text.

export const $ = id => document.getElementById(id);

/** Make an element: properties are set as such, names with a dash as attributes; children are nodes or text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter(child => child !== null));
  return element;
}

/** Replace the children of an element; the keyboard's focus stays at its button. */
export function refill(box, ...children) {
  const focused = [...box.querySelectorAll("button")].indexOf(document.activeElement);
  box.replaceChildren(...children);
  if (focused >= 0) box.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
}

/** Return a button that shows further items, null if there are none. */
export function more(items, open, what) {
  if (!items.length) return null;
  const button = make("button", { type: "button", className: "quiet" }, `${whole(items.length)} ${what}`);
  button.addEventListener("click", () => {
    open();
    button.remove();
  });
  return button;
}

const SHOWN = 240;

/** Show foreign text: isolated from the text around it, shortened to `length` characters. */
export function foreign(text, length = SHOWN) {
  if (text === null) return make("span", { className: "none" }, "empty");
  return make("bdi", { dir: "auto", title: text.length > 12 ? text.slice(0, 1000) : "" }, shorten(text, length));
}

export function shorten(text, length) {
  if (text.length <= length) return text;
  // Iterating by code points cuts no character in half.
  return [...text.slice(0, length)].slice(0, -1).join("") + "…";
}

export const whole = number => number.toLocaleString("en").replaceAll(",", "\u202f");
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u202f%`;

// A click needs the same element under the pointer from press to release: what changes in between waits, at most five seconds.
const LONGEST = 5000; // milliseconds
const delayed = new Map();
let pressed = 0; // timer of the end of a press

function released() {
  clearTimeout(pressed);
  pressed = 0;
  const actions = [...delayed.values()];
  delayed.clear();
  for (const action of actions) action();
}

addEventListener("pointerdown", () => {
  clearTimeout(pressed);
  pressed = setTimeout(released, LONGEST);
}, true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(released), true);

/** Call `action` now, or after the pointer is released; a later one with the same key takes its place. */
export function whenReleased(key, action) {
  if (pressed) delayed.set(key, action);
  else action();
}

// One line of news at the bottom of the page, read aloud by screen readers.

import { $, make } from "./dom.js";

const SECONDS = 6;
let timer = 0;

/** Show a text, perhaps with a link to a file. */
export function say(text, file = null) {
  const line = $("message");
  line.replaceChildren(text, ...(file ? [make("a", { href: file.href, download: file.text }, file.text)] : []));
  line.classList.add("shown");
  clearTimeout(timer);
  timer = setTimeout(() => line.classList.remove("shown"), 1000 * SECONDS * (file ? 3 : 1));
}

// One line of news at the bottom of the page, read aloud by screen readers.

import { $ } from "./dom.js";

const SECONDS = 6;
let timer = 0;

export function say(text) {
  const line = $("message");
  line.textContent = text;
  line.classList.add("shown");
  clearTimeout(timer);
  timer = setTimeout(() => line.classList.remove("shown"), 1000 * SECONDS);
}

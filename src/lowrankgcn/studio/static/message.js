// One line of news at the bottom of the page, read aloud by screen readers.

import { $, make, percent } from "./dom.js";

const SECONDS = 6;
let timer = 0;

/** Show a text, perhaps with a link to a file. */
export function say(text, file = null) {
  const line = $("message");
  line.ariaLive = "polite";
  line.replaceChildren(text, ...(file ? [make("a", { href: file.href, download: file.text }, file.text)] : []));
  line.classList.add("shown");
  clearTimeout(timer);
  timer = setTimeout(() => line.classList.remove("shown"), 1000 * SECONDS * (file ? 3 : 1));
}

/** Show how far a file is written: the step, and a bar where the server counts rows. It is not read aloud twice a second. */
export function progress({ step, done, total }, seconds) {
  const bar = make("progress", { max: total || 1, "aria-label": "Writing" });
  if (total) bar.value = done;
  const share = total ? ` ${percent(done / total)}` : "";
  say(make("span", { className: "writing" }, bar, `Writing${step && step !== "writing" ? `: ${step}` : ""}${share} … ${Math.round(seconds)} s`));
  $("message").ariaLive = "off";
}

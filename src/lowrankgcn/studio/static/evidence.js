// What the predictions say about a row: how probable each class is, why, and which labelled rows are near.

import { keep } from "./contents.js";
import { foreign, make, more, percent, whole } from "./dom.js";
import { summary } from "./fields.js";
import { colourNumber, sign } from "./looks.js";
import { highlighted } from "./picture.js";
import { store } from "./store.js";

const CLASSES = 6; // bars shown at first
const narrow = matchMedia("(max-width: 720px)");
let open = null; // whether the user has unfolded or folded the evidence; null: as the screen allows

/** Return the element with all that is known about a row; phones show it folded. */
export function evidence(known) {
  const parts = [probabilities(known), reasons(known), neighbours(known)].filter(Boolean);
  if (!parts.length) return null;
  const [name, share] = known.probabilities?.[0] ?? [null, 0];
  const first = name === null ? ["Nearest labelled rows"] : ["Predicted ", sign(store.codeOf(name)), foreign(name, 60), ` ${percent(share)}`];
  const box = make("details", { className: "evidence", open: open ?? !narrow.matches }, make("summary", {}, ...first), ...parts);
  box.firstChild.addEventListener("click", () => (open = !box.open));
  return box;
}

export function section(name, ...children) {
  return make("section", { "aria-label": name }, make("h3", {}, name), ...children);
}

export function bar(code, name, share, text) {
  const track = make("span", { className: `track back-${colourNumber(code)}`, "aria-hidden": "true" });
  track.style.setProperty("--share", share);
  return make("li", {}, sign(code), foreign(name, 60), track, make("span", { className: "number" }, text));
}

function probabilities({ probabilities: shares }) {
  if (!shares?.length) return null;
  const bars = shares.map(([name, share]) => bar(store.codeOf(name), name, share, share < 0.0005 ? `< ${percent(0.001, 1)}` : percent(share, share > 0.9995 ? 0 : 1)));
  const list = make("ul", { className: "bars" }, ...bars.slice(0, CLASSES));
  return section("Class probabilities", list, more(bars.slice(CLASSES), () => list.append(...bars.slice(CLASSES)), "more classes"));
}

function reasons({ cells, reasons: list, pixels, against, probabilities: shares }) {
  if (!list?.length && !pixels?.length) return null;
  const most = Math.max(...list.map(({ amount }) => Math.abs(amount)), 1e-12);
  const items = list.map(({ column, value, text, amount }) => {
    const track = make("span", { className: `reason ${amount >= 0 ? "for" : "against"}`, "aria-hidden": "true" });
    track.style.setProperty("--share", Math.abs(amount) / most);
    const words = make("span", { className: "what" }, foreign(column, 60), value ? " " : null, value ? make("b", {}, foreign(value, 60)) : null, text ? `: ${text}` : null);
    const side = make("span", { className: "number" }, `${amount >= 0 ? "+" : "−"}${Math.abs(amount).toPrecision(2)}`);
    side.title = amount >= 0 ? "supports the class" : "speaks against the class";
    return make("li", {}, words, track, side);
  });
  const first = shares?.[0]?.[0] ?? "the class";
  const question = make("p", { className: "hint" }, "for ", foreign(first, 60), ...(against ? [", against ", foreign(against, 60)] : []));
  const parts = [question, make("ul", { className: "reasons" }, ...items)];
  if (pixels?.length) parts.push(highlighted(cells, pixels, 160), make("p", { className: "hint" }, "Blue parts support ", foreign(first, 60), ", orange ones ", foreign(against ?? "another class", 60), "."));
  return section("Strongest reasons", ...parts);
}

function neighbours({ neighbours: list }) {
  if (!list?.length) return null;
  const items = list.map(({ row, label: given, similarity, cells }) => {
    keep(row, cells, true);
    const button = make("button", { type: "button", title: `Row ${whole(row + 1)}` }, ...summary(row, cells));
    button.addEventListener("click", () => store.select([row]));
    return make("li", {}, sign(store.codeOf(given)), foreign(given, 60), button, make("span", { className: "number", title: "similarity" }, similarity < 0.005 ? "< 0.01" : similarity.toFixed(2)));
  });
  return section("Nearest labelled rows", make("ul", { className: "near" }, ...items));
}

// What a row contains: its title and pictures, texts to read, links and dates, then all other cells as a table.

import { foreign, make, more, whole } from "./dom.js";
import { pictures } from "./picture.js";
import { store } from "./store.js";

const LETTERS = { text: 20_000, category: 400 }; // of a cell shown at first
const FIELDS = 24; // cells shown at first
const [PICTURE, DRAWN] = [320, 240]; // pixels of the longest side of a picture, and of one drawn from numbers
const LINK = /https?:\/\/[^\s<>"']+/g;
const DAY = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" };

/** Return the elements that show the cells of a row, in the order in which a person reads them. */
export function fields(row, cells) {
  const { columns, title } = store.table;
  const pixels = new Set(store.table.pixels?.columns);
  const [head, texts, others, numbers] = [[], [], [], []];
  cells.forEach(([name, text, date], i) => {
    const { show } = columns[i];
    if (show === "image" && text !== null) return;
    if (pixels.has(i)) numbers.push(make("div", {}, make("dt", {}, foreign(name, 80)), value(text, show)));
    else if (i === title && text !== null) head.push(make("p", { className: "headline" }, foreign(text, 400)));
    else if (show === "text" && text !== null) texts.push(prose(name, text));
    else others.push(make("div", {}, make("dt", {}, foreign(name, 80)), value(text, show, date)));
  });
  const seen = pictures(row, cells, store.table.pixels ? DRAWN : PICTURE);
  if (seen.length) head.push(make("div", { className: "pictures" }, ...seen));
  const list = make("dl", { className: "cells", "aria-label": "Cells" }, ...others.slice(0, FIELDS));
  const rest = more(others.slice(FIELDS), () => list.append(...others.slice(FIELDS)), "more columns");
  const hidden = more(numbers, () => list.append(...numbers), "pixels as numbers");
  return make("div", { className: "content" }, ...head, ...texts, list, rest, hidden);
}

function prose(name, text) {
  const box = make("div", { className: "prose", dir: "auto" });
  const section = make("section", { "aria-label": name.slice(0, 200) }, make("h3", {}, foreign(name, 80)), box);
  fill(box, text, LETTERS.text, section);
  return section;
}

/** Show a text with its links; a very long one is completed by a button. */
function fill(box, text, letters, outside) {
  box.replaceChildren(...linked(text.slice(0, letters)));
  if (text.length <= letters) return;
  const button = make("button", { type: "button", className: "quiet" }, `all ${whole(text.length)} characters`);
  button.addEventListener("click", () => {
    box.replaceChildren(...linked(text));
    button.remove();
  });
  outside.append(button);
}

function linked(text) {
  const parts = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(LINK)) {
    const address = found.replace(/[.,;:!?)\]]+$/, ""); // the sentence goes on
    parts.push(text.slice(end, index), link(address));
    end = index + address.length;
  }
  return [...parts, text.slice(end)].filter(part => part !== "");
}

const link = address => make("a", { href: address, target: "_blank", rel: "noopener noreferrer", referrerPolicy: "no-referrer" }, address);

function value(text, show, date) {
  if (text === null) return make("dd", {}, foreign(null));
  if (show === "date" && date) return make("dd", {}, make("time", { dateTime: date.replace(" ", "T"), title: text }, dated(date)));
  const box = make("bdi", { dir: "auto" });
  const cell = make("dd", { className: `is-${show}` }, box);
  fill(box, text, LETTERS.category, cell);
  return cell;
}

/** Write a date in words: 17 March 2024; the time follows if there is one. */
function dated(iso) {
  const [day, time] = iso.split(" ");
  const moment = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(moment.getTime())) return iso; // a duration
  return [new Intl.DateTimeFormat("en-GB", DAY).format(moment), time?.replace(/:00$/, "")].filter(Boolean).join(", ");
}

/** Return a row in a line: its picture, and its title or its first cells. */
export function summary(row, cells) {
  const { columns, title } = store.table;
  const small = pictures(row, cells, 40).slice(0, 1);
  if (title !== null && cells[title][1] !== null) return [...small, foreign(cells[title][1], 90)];
  const text = columns.findIndex(({ show }, i) => show === "text" && cells[i][1] !== null);
  if (text >= 0) return [...small, foreign(cells[text][1], 90)];
  if (small.length) return small;
  const pairs = cells.filter(([, value], i) => value !== null && ["number", "category", "date"].includes(columns[i].show)).slice(0, 3);
  return [foreign(pairs.map(([name, value]) => `${name} ${value}`).join(" · "), 90)];
}

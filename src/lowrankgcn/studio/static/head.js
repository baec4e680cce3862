// The top of the page: accuracy, suggestions, undo, files.

import { next, open } from "./actions.js";
import { $, foreign, make, percent, refill, shorten, whenReleased, whole } from "./dom.js";
import { person, store } from "./store.js";
import { step, write } from "./sync.js";

const LISTED = 6; // suggestions with a button of their own; the map shows all
let spoken = "";

function accuracy() {
  const { accuracy: found, audited, labelled } = store.state;
  $("counts").textContent = `${whole(labelled)} of ${whole(store.table.rows)} rows labelled`;
  const box = $("accuracy");
  const random = "Every fourth suggested row is drawn at random: the accuracy is measured on these rows, predicted without their own label.";
  box.title = found ? `${random} ${audited} rows so far, with the 90\u202f% interval.` : `${random} It needs 8 of them (${audited} so far) and two labels of every class.`;
  if (!found) return box.replaceChildren(make("span", { className: "soft" }, "accuracy: too few labels"));
  box.replaceChildren(
    ...(store.state.curve.length > 1 ? [sparkline()] : []),
    make("b", {}, percent(found.value)),
    make("span", { className: "soft" }, make("span", { className: "words" }, `accuracy on ${audited} random rows, `), `${percent(found.low)} to ${percent(found.high)}`),
    ...[advice(found)].filter(Boolean),
  );
}

const goal = () => Number(localStorage.getItem("goal")) / 100;

/** Say whether the accuracy has reached the goal: all of its interval has to lie above. */
function advice({ value, low, high }) {
  if (!goal()) return null;
  const around = `${percent(value)} ± ${Math.round(100 * Math.max(value - low, high - value))}`;
  if (low >= goal()) return make("span", { className: "stop" }, `you can stop: ${around}`);
  const gain = store.state.gain === null ? "" : `, ten more labels: about +${(100 * store.state.gain).toFixed(1)}`;
  return make("span", { className: "soft" }, `goal ${percent(goal())}: not yet (${around}${gain})`);
}

/** Say to screen readers what the labels led to, once the predictions are complete. */
function speak() {
  const { refreshing, accuracy: found, labelled, classes: all } = store.state;
  if (refreshing || all.length < 2) return;
  const counts = all.slice(0, 10).map(({ name, predicted }) => `${shorten(name, 40)} ${predicted}`).join(", ");
  const measured = found ? `Accuracy on random rows ${percent(found.value)}.` : "Too few labels for an accuracy.";
  const text = `${labelled} rows labelled. Predicted: ${counts}. ${measured}`;
  if (text !== spoken) $("spoken").textContent = spoken = text;
}

/** Draw the accuracy and its interval over the number of labels. */
function sparkline() {
  const [width, height] = [88, 26];
  const names = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(names, "svg");
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("class", "spark");
  picture.setAttribute("aria-hidden", "true");
  const points = store.state.curve;
  const last = Math.max(1, points.length - 1);
  const x = i => 3 + ((width - 6) * i) / last;
  const y = value => height - 3 - (height - 6) * value;
  const shape = (name, attributes) => {
    const element = document.createElementNS(names, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    picture.append(element);
  };
  const corners = [...points.map((p, i) => [x(i), y(p.high)]), ...points.map((p, i) => [x(i), y(p.low)]).reverse()];
  shape("polygon", { class: "band", points: corners.join(" ") });
  shape("polyline", { class: "curve", points: points.map((p, i) => [x(i), y(p.value)]).join(" ") });
  if (points.length) shape("circle", { class: "end", cx: x(points.length - 1), cy: y(points.at(-1).value), r: 2.4 });
  return picture;
}

function suggestions() {
  const buttons = open().slice(0, LISTED).map(row => {
    const button = make("button", { type: "button", className: "row" }, make("b", {}, store.state.suggestions.indexOf(row) + 1), whole(row + 1));
    button.setAttribute("aria-label", `Suggestion ${store.state.suggestions.indexOf(row) + 1}: row ${row + 1}`); // the number on the map
    button.setAttribute("aria-pressed", row === store.focus);
    button.addEventListener("click", () => store.select([row]));
    return button;
  });
  whenReleased("suggestions", () => refill($("suggestions"), ...buttons));
  $("next-button").disabled = !buttons.length;
}

function connection() {
  const away = !store.connected;
  const labels = store.waiting === 1 ? "1 label waits" : `${store.waiting} labels wait`;
  let text = "";
  if (away) text = store.refused ? "The server has a new address: open the page it printed, in this tab." : store.state.message ? `The server has ended: ${store.state.message}` : "The server does not answer; reconnecting … Labels are kept in this tab until it is back.";
  if ((away || store.slow) && store.waiting) text += ` ${labels} to be saved.`;
  $("connection").textContent = text;
  document.body.classList.toggle("away", away);
  for (const button of [$("write").querySelector("summary"), $("undo"), $("redo")]) button.classList.toggle("off", away);
}

export function connectHead() {
  $("undo").addEventListener("click", () => step("undo"));
  $("redo").addEventListener("click", () => step("redo"));
  $("next-button").addEventListener("click", next);
  $("goal").value = localStorage.getItem("goal") ?? "";
  $("goal").addEventListener("input", () => {
    localStorage.setItem("goal", $("goal").value);
    accuracy();
  });
  $("write").addEventListener("click", event => {
    const what = event.target.closest("[data-what]")?.dataset.what;
    if (!what) return;
    $("write").open = false;
    write(what);
  });
  document.addEventListener("click", event => {
    for (const menu of document.querySelectorAll(".menu[open]")) {
      const chosen = event.target.closest("#write button, #more button");
      if (!menu.contains(event.target) || chosen) menu.open = false;
    }
  });
  store.on("table", () => {
    const { name, target } = store.table;
    $("target").replaceChildren("label: ", foreign(target, 60));
    $("name").textContent = name;
    document.title = `${name} · ${target} · studio`;
  });
  store.on("state table", () => {
    if (!store.table) return;
    $("undo").disabled = !store.state.undo;
    $("redo").disabled = !store.state.redo;
    document.body.classList.toggle("busy", Boolean(store.state.refreshing));
    accuracy();
    suggestions();
    speak();
    const { version, labelled } = store.state;
    Object.assign(document.body.dataset, { version, labelled });
  });
  store.on("table person", () => $("by").replaceChildren(...(person() ? ["by ", foreign(person(), 40)] : [])));
  store.on("selection", suggestions);
  store.on("connection", connection);
}

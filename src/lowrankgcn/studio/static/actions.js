// What a person does with the selected rows: label, skip, confirm, go on to the next.

import { prefetch } from "./contents.js";
import { $, foreign, whole } from "./dom.js";
import { introduced } from "./history.js";
import { say } from "./message.js";
import { store } from "./store.js";
import { change, label, skip } from "./sync.js";
import { moveBy } from "./table.js";

/** Suggested rows that are not labelled or skipped yet. */
export const open = () => store.state.suggestions.filter(row => !store.labelled[row] && !store.skipped[row]);

/** Select the next suggested row. */
export function next() {
  const rows = open();
  if (!rows.length) return;
  store.select([rows[(rows.indexOf(store.focus) + 1) % rows.length]]);
  document.querySelector("#tabs [data-tab=row]").click(); // narrow screens show one panel at a time
}

const advances = () => localStorage.getItem("advance") !== "off";

/** Go on after a label: down in the table if the row was selected there, otherwise to the next suggestion. */
function advance() {
  if (!advances() || store.selection.length !== 1) return;
  if (store.via === "table") moveBy(1);
  else next();
}

function ready() {
  if (store.focus === null || store.focus === store.visible) return true;
  say(`Row ${whole(store.focus + 1)} is not on the screen yet.`);
  return false;
}

/** Assign a class to the selection, or remove its labels (null), if its content is on the screen. */
export async function give(name) {
  const rows = store.selection;
  if (!ready() || !introduced(() => give(name))) return;
  const differ = rows.filter(row => store.labelled[row] && store.className(store.codes[row]) !== name);
  if (rows.length > 1 && (differ.length || (store.via === "shown" && name !== null))) {
    const answer = await ask(rows.length, differ.length, name);
    if (answer === "all") label(rows, name);
    if (answer === "others") label(rows.filter(row => !store.labelled[row]), name);
    return;
  }
  label(rows, name);
  if (name !== null && rows.length) advance();
}

let answered = () => {}; // ends the question that is open

/** Ask before many rows are labelled, or labels of several rows are replaced: "all", "others" or "". */
function ask(rows, differ, name) {
  const box = $("ask");
  const labelled = store.labelledSelection();
  $("ask-title").textContent = `${whole(rows)} rows, ${whole(labelled)} of them labelled`;
  const labels = differ === 1 ? "1 label" : `${whole(differ)} labels`;
  const others = rows - labelled;
  let verb = name === null ? `Remove ${labels}` : `Replace ${labels}`;
  if (!differ) verb = `Label ${whole(rows)} rows`;
  const question = name === null ? [`${verb}?`] : [`${verb} ${differ ? "by" : "as"} `, foreign(name, 60), "?"];
  if (differ && others) question.push(` ${others === 1 ? "1 row has" : `${whole(others)} rows have`} no label yet.`);
  $("ask-text").replaceChildren(...question);
  box.querySelector("[value=all]").textContent = differ && others && name !== null ? `Label all ${whole(rows)} rows` : verb;
  box.querySelector("[value=others]").textContent = others === 1 ? "Label the other row only" : `Label the other ${whole(others)} rows only`;
  box.querySelector("[value=others]").hidden = name === null || others === 0 || !differ;
  box.returnValue = "";
  box.showModal();
  answered(""); // an earlier question whose "close" has not come yet
  return new Promise(answer => (answered = answer));
}

/** Assign the class with a number from 0 to the selection. */
export function assign(code) {
  const known = store.state.classes[code];
  if (known) give(known.name);
}

/** Skip the selected rows: their class is not known. Rows that are all skipped are taken back into the list. */
export function skipSelection() {
  const rows = store.selection;
  if (!rows.length) return say("Select a row first: click a point, or press N.");
  if (!ready() || !introduced(skipSelection)) return;
  if (store.labelledSelection()) return say("Remove the label first (Delete): only rows without a label are skipped.");
  const skipped = !rows.every(row => store.skipped[row]);
  skip(rows, skipped);
  if (skipped) advance();
}

/** Label the selected rows with their accepted or predicted classes. */
export async function confirm() {
  const rows = store.selection.filter(row => !store.labelled[row]);
  if (!rows.length || !ready() || !introduced(confirm)) return;
  if (store.state.blind) return say("Predictions are hidden: press the key of a class.");
  if (rows.length === 1) {
    const name = store.className(store.codes[rows[0]]);
    return name === null ? say("There is no prediction to confirm yet.") : give(name);
  }
  const answer = await change("confirm", { rows });
  if (answer) say(`${whole(rows.length)} rows labelled with their predicted classes.`);
}

/** Show how many rows a class key labels. */
function selected() {
  const many = store.selection.length > 1;
  $("selected").textContent = many ? `${whole(store.selection.length)} rows, ${whole(store.labelledSelection())} of them labelled` : "";
}

export function connectActions() {
  const toggle = $("advance");
  const shown = () => toggle.setAttribute("aria-pressed", advances());
  toggle.addEventListener("click", () => {
    localStorage.setItem("advance", advances() ? "off" : "on");
    shown();
  });
  shown();
  // "close" comes late on a busy machine, when the next question may be open.
  $("ask").addEventListener("close", () => $("ask").open || answered($("ask").returnValue));
  $("skip").addEventListener("click", skipSelection);
  store.on("selection predictions", selected);
  store.on("state", () => prefetch(open()));
}

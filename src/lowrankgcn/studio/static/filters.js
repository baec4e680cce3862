// Which rows the table and the map show: a search, a filter, all shown rows as a selection, and sure predictions as a whole.

import { $, make, whole } from "./dom.js";
import { say } from "./message.js";
import { store } from "./store.js";
import { get } from "./api.js";
import { change } from "./sync.js";
import { show } from "./table.js";

const NAMES = {
  open: "without a label",
  labelled: "labelled",
  uncertain: "uncertain",
  suspect: "possibly wrong",
  skipped: "skipped",
  accepted: "accepted predictions",
  note: "with a note",
  disputed: "people disagree",
  differs: "imported prediction differs",
};

function options() {
  const box = $("filter");
  if (!store.table || document.activeElement === box) return; // an open list does not change
  const value = box.value;
  const { filters, classes } = store.state;
  const rows = (count, text) => `${text} (${whole(count)})`;
  const common = Object.entries(NAMES).filter(([name]) => filters[name] || name === value || name === "open");
  const named = classes.map(({ name, labelled, predicted }) => make("option", { value: `class:${name}` }, rows(labelled + predicted, name.slice(0, 60))));
  box.replaceChildren(
    make("option", { value: "" }, "all rows"),
    ...common.map(([name, text]) => make("option", { value: name }, rows(filters[name] ?? 0, text))),
    ...(named.length ? [make("optgroup", { label: "class, labelled or predicted" }, ...named)] : []),
  );
  box.value = [...box.options].some(option => option.value === value) ? value : "";
}

/** Select all rows that the table shows. */
export function selectShown() {
  const rows = [];
  for (let row = 0; row < store.table.rows; row++) if (!store.matches || store.matches[row]) rows.push(row);
  store.select(rows, null, "shown");
}

async function countSure() {
  const percent = Number($("sure").value);
  if (!(percent >= 50 && percent <= 100)) return;
  const { rows } = await get(`sure?${new URLSearchParams({ percent })}`);
  $("accept-rows").textContent = `Accept ${whole(rows)} ${rows === 1 ? "row" : "rows"} above ${percent}\u202f%`;
  $("accept-rows").disabled = rows === 0;
}

export function connectFilters() {
  $("filter").addEventListener("change", () => {
    $("filter").blur();
    show($("filter").value);
  });
  $("select-shown").addEventListener("click", selectShown);
  $("accept").addEventListener("click", () => {
    if (store.state.blind) return say("Predictions are hidden, so they cannot be accepted.");
    $("accept-dialog").returnValue = "";
    countSure().catch(error => say(error.message));
    $("accept-dialog").showModal();
  });
  $("sure").addEventListener("input", () => countSure().catch(error => say(error.message)));
  $("accept-dialog").addEventListener("close", async () => {
    if ($("accept-dialog").returnValue !== "accept") return;
    const answer = await change("accept", { above: Number($("sure").value) / 100 });
    if (answer) say(`${whole(answer.rows)} predictions accepted. They are no training data until you confirm them; undo takes them back.`);
  });
  store.on("state table", options);
}

/** Show all rows again. */
export function clearFilter() {
  $("filter").value = "";
  show("");
}

// Puts the parts of the page together.

import { connectActions } from "./actions.js";
import { connectClasses } from "./classes.js";
import { $ } from "./dom.js";
import { connectFilters } from "./filters.js";
import { connectHead } from "./head.js";
import { connectHistory } from "./history.js";
import { connectKeys } from "./keys.js";
import { connectMap, place } from "./map.js";
import { connectPointer } from "./pointer.js";
import { connectRow } from "./row.js";
import { connectTable } from "./table.js";
import { start } from "./sync.js";

/** On narrow screens one panel is visible at a time. */
function connectTabs() {
  $("tabs").addEventListener("click", event => {
    const tab = event.target.dataset.tab;
    if (!tab) return;
    document.body.dataset.tab = tab;
    for (const button of $("tabs").children) button.setAttribute("aria-pressed", button.dataset.tab === tab);
  });
}

history.replaceState(null, "", location.pathname); // the address in the window has no token
connectActions();
connectClasses();
connectFilters();
connectHistory();
connectHead();
connectMap();
connectPointer();
connectTable();
connectRow();
connectKeys();
connectTabs();
window.studio = { place }; // pixels of a row on the map: a canvas has no elements to ask
start().catch(error => {
  $("message").textContent = error.message;
  $("message").classList.add("shown");
});

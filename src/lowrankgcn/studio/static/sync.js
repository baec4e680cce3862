// Keeps the page and the server in step: labels go out, predictions come in, both survive a server that restarts.

import { Refused, Unreachable, binary, get, listen, post } from "./api.js";
import { NONE, store } from "./store.js";
import { say } from "./message.js";

const waiting = []; // labels that the server has not confirmed, in order
let shown = []; // labels shown before the predictions contain them
let sending = false;
let refreshing = false;
let again = false;
let unpainted = []; // changes whose colours are not on the screen: when they were made, and their version

/** Where labels wait that are not saved when the tab is loaded again, for instance with a new address. */
const kept = () => `waiting ${store.table.target} ${store.table.rows} ${store.table.sample}`;

/** Load the table, then follow the server; the map comes when the server has prepared it. */
export async function start() {
  store.table = await get("table");
  await refresh();
  store.changed("table");
  store.changed("predictions");
  listen({ opened: reconnected, version: seen, closed: lost });
  for (const body of JSON.parse(sessionStorage.getItem(kept()) ?? "[]")) label(body.rows, body.class);
  await locate();
}

/** Load the positions of the rows, which take longer than their cells. */
async function locate() {
  try {
    store.positions ??= new Float32Array(await binary("positions"));
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return; // asked again after the next connection
  }
  store.changed("map");
}

/** Give the rows a class; null removes their label. The page shows it before the server answers. */
export function label(rows, name) {
  if (!rows.length) return say("Select a row first: click a point, or press N.");
  const { startTime } = performance.mark("label");
  if (name !== null && store.codeOf(name) === NONE) {
    store.state.classes.push({ name, labelled: 0, predicted: 0 });
  }
  const entry = { rows, code: name === null ? NONE : store.codeOf(name), version: Infinity, startTime };
  shown.push(entry);
  unpainted.push(entry);
  show(entry);
  store.changed("state");
  store.changed("predictions");
  waiting.push({ body: { rows: Array.from(rows), class: name }, entry });
  count();
  send();
}

function show({ rows, code }) {
  for (const row of rows) {
    store.labelled[row] = code === NONE ? 0 : 1;
    if (code === NONE) continue;
    store.codes[row] = code;
    store.certainty[row] = 255;
  }
}

async function send() {
  if (sending) return;
  sending = true;
  while (waiting.length) {
    const { body, entry } = waiting[0];
    try {
      const { version } = await post("label", body);
      entry.version = version;
      waiting.shift();
    } catch (error) {
      if (error instanceof Unreachable || error.status === 403) break; // sent again after the next connection
      waiting.shift();
      shown = shown.filter(other => other !== entry);
      unpainted = unpainted.filter(other => other !== entry);
      say(error.message);
      await refresh(); // without this label
    }
    count();
  }
  sending = false;
  if (!waiting.length) await settle();
}

/** Labels that the predictions contain need no special care any more. */
async function settle() {
  shown = shown.filter(entry => entry.version > store.state.version);
  if (shown.length) await refresh();
  else store.changed("predictions");
}

/** Keep labels that wait for a server that is away. */
function keep() {
  try {
    if (store.connected || !waiting.length) sessionStorage.removeItem(kept());
    else sessionStorage.setItem(kept(), JSON.stringify(waiting.map(({ body }) => body)));
  } catch {
    // Too many rows for the browser's storage: they wait as long as the page is open.
  }
}

function count() {
  store.waiting = waiting.length;
  keep();
  store.changed("connection");
}

/** Take back the last label, or bring it back. */
export async function step(direction) {
  if (waiting.length) return say("Wait until all labels are saved.");
  try {
    const { startTime } = performance.mark("label");
    const { version } = await post(direction);
    unpainted.push({ version, startTime });
    await refresh();
  } catch (error) {
    say(error.message);
  }
}

/** Write one of the files; the server returns where it lies. */
export async function write(what) {
  say("Writing …");
  try {
    const { path } = await post("write", { what });
    say(`Written beside the table: ${path.split(/[\\/]/).at(-1)}`);
  } catch (error) {
    say(error.message);
  }
}

async function refresh() {
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  try {
    let attempts = 0;
    do {
      again = false;
      const [state, predictions] = await Promise.all([get("state"), binary("predictions")]);
      // The two answers may straddle a change: then ask again.
      if (new Uint32Array(predictions, 0, 1)[0] !== state.version && ++attempts < 5) again = true;
      else accept(state, predictions);
    } while (again);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
  } finally {
    refreshing = false;
  }
}

function accept(state, predictions) {
  const [version, rows] = new Uint32Array(predictions, 0, 2);
  store.codes = new Uint16Array(predictions, 8, rows);
  store.certainty = new Uint8Array(predictions, 8 + 2 * rows, rows);
  store.labelled = new Uint8Array(predictions, 8 + 3 * rows, rows).map(flags => flags & 1);
  const news = state.message !== store.state.message && state.message;
  for (const { name } of store.state.classes) {
    // A class that only waiting labels have keeps its place behind the known ones.
    const unsaved = waiting.some(({ body }) => body.class === name);
    if (unsaved && !state.classes.some(one => one.name === name)) state.classes.push({ name, labelled: 0, predicted: 0 });
  }
  store.state = state;
  shown = shown.filter(entry => entry.version > version);
  shown.forEach(show);
  remember(state);
  store.changed("state");
  store.changed("predictions");
  if (news) say(news);
}

function remember({ labelled, accuracy }) {
  store.history = store.history.filter(point => point.labelled < labelled);
  if (accuracy) store.history.push({ labelled, ...accuracy });
}

/** Called by the map when new colours are on the screen. */
export function painted() {
  const done = unpainted.filter(({ version }) => version <= store.state.fitted);
  if (!done.length) return;
  const end = performance.mark("painted").startTime;
  for (const { startTime } of done) performance.measure("label → painted", { start: startTime, end });
  unpainted = unpainted.filter(change => !done.includes(change));
}

function seen(version) {
  if (version !== store.state.version) refresh().catch(refused);
}

function lost() {
  store.connected = false;
  count();
  // An event source does not say why it failed: a refusal means that the server runs under a new address.
  get("state").catch(error => {
    if (error instanceof Refused) refused(error);
  });
}

function refused(error) {
  if (error.status !== 403) return say(error.message);
  store.refused = true;
  store.changed("connection");
}

async function reconnected() {
  if (store.connected) return;
  try {
    const table = await get("table");
    if (JSON.stringify(table) !== JSON.stringify(store.table)) return location.reload();
    store.connected = true;
    store.refused = false;
    store.changed("connection");
    await refresh();
    await send();
    if (!store.positions) await locate();
  } catch (error) {
    if (!(error instanceof Unreachable)) refused(error);
  }
}

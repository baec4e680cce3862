// Keeps the page and the server in step: labels go out, predictions come in, both survive a server that restarts.

import { Refused, Unreachable, binary, get, listen, post } from "./api.js";
import { NONE, person, store } from "./store.js";
import { progress, say } from "./message.js";

const PROGRESS = 500; // milliseconds between two looks at a file that is being written
const RETRY = 2000; // milliseconds until a label is sent again that a connected server did not confirm
const waiting = []; // changes that the server has not confirmed, in order
let blocked = []; // changes that begin when the labels before them are saved
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
  for (const { path, body } of JSON.parse(sessionStorage.getItem(kept()) ?? "[]")) enqueue(path, body);
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

/** Label rows with a class; null removes their labels. */
export function label(rows, name) {
  if (!rows.length) return say("Select a row first: click a point, or press N.");
  enqueue("label", { rows: Array.from(rows), class: name });
}

/** Remember that the class of rows is not known, or forget it. */
export const skip = (rows, skipped) => enqueue("skip", { rows: Array.from(rows), skipped });

/** Show a change before the server answers, and send it. */
function enqueue(path, body) {
  const { startTime } = performance.mark("label");
  const name = body.class ?? null;
  if (name !== null && store.codeOf(name) === NONE) {
    store.state.classes.push({ name, labelled: 0, predicted: 0 });
  }
  const entry = { rows: body.rows, name, skipped: Number(body.skipped ?? false), version: Infinity, startTime };
  shown.push(entry);
  unpainted.push(entry);
  show(entry);
  store.changed("state");
  store.changed("predictions");
  waiting.push({ path, body: signed(body), entry });
  count();
  send();
}

function show({ rows, name, skipped }) {
  const code = name === null ? NONE : store.codeOf(name);
  for (const row of rows) {
    store.labelled[row] = code === NONE ? 0 : 1;
    store.skipped[row] = skipped;
    store.accepted[row] = 0;
    if (code === NONE) continue;
    store.codes[row] = code;
    store.certainty[row] = 255;
  }
}

/** Add who makes a change, if this browser knows. */
function signed(body) {
  const by = person();
  return by ? { ...body, by } : body;
}

/** Make a change that is not shown before the server has made it; return its answer, null after a failure. */
export async function change(path, body = {}) {
  if (sending) await new Promise(resume => blocked.push(resume));
  if (waiting.length) return say("Wait until all labels are saved.");
  try {
    const { startTime } = performance.mark("label");
    const answer = await post(path, signed(body), 0);
    unpainted.push({ version: answer.version, startTime });
    await refresh();
    return answer;
  } catch (error) {
    say(error.message);
    return null;
  }
}

/** Take back the last change, or bring it back. */
export const step = direction => change(direction);

async function send() {
  if (sending) return;
  sending = true;
  while (waiting.length) {
    const { path, body, entry } = waiting[0];
    const slow = setTimeout(count, RETRY, true);
    try {
      const { version } = await post(path, body);
      entry.version = version;
      waiting.shift();
    } catch (error) {
      if (error instanceof Unreachable || error.status === 403) {
        if (store.connected) setTimeout(send, RETRY);
        break; // sent again after the next connection
      }
      waiting.shift();
      shown = shown.filter(other => other !== entry);
      unpainted = unpainted.filter(other => other !== entry);
      say(error.message);
      await refresh(); // without this label
    } finally {
      clearTimeout(slow);
    }
    count();
  }
  sending = false;
  blocked.forEach(resume => resume());
  blocked = [];
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
    else sessionStorage.setItem(kept(), JSON.stringify(waiting.map(({ path, body }) => ({ path, body }))));
  } catch {
    // Too many rows for the browser's storage: they wait as long as the page is open.
  }
}

function count(slow = false) {
  store.waiting = waiting.length;
  store.slow = slow && waiting.length > 0;
  keep();
  store.changed("connection");
}

/** Write one of the files; the message links to it. */
export async function write(what) {
  let writing = true;
  const wait = async () => {
    const begun = performance.now();
    for (let answer = { step: "", done: 0, total: 0 }; writing; answer = await get(`progress?what=${what}`)) {
      if (writing) progress(answer, (performance.now() - begun) / 1000);
      await new Promise(next => setTimeout(next, PROGRESS));
    }
  };
  wait().catch(() => {}); // the answer to the request below has the reason
  try {
    const { path } = await post("write", { what }, 0);
    writing = false;
    say("Written beside the table: ", { href: `api/file/${what}`, text: path.split(/[\\/]/).at(-1) });
  } catch (error) {
    say(error.message);
  } finally {
    writing = false;
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
  const flags = new Uint8Array(predictions, 8 + 3 * rows, rows);
  for (const [name, bit] of [["labelled", 1], ["skipped", 2], ["accepted", 4]]) {
    store[name] = flags.map(flag => Number((flag & bit) !== 0));
  }
  const news = state.message !== store.state.message && state.message;
  for (const { name } of store.state.classes) {
    // A class that only waiting labels have keeps its place behind the known ones.
    const unsaved = waiting.some(({ body }) => body.class === name);
    if (unsaved && !state.classes.some(one => one.name === name)) state.classes.push({ name, labelled: 0, predicted: 0 });
  }
  store.state = state;
  shown = shown.filter(entry => entry.version > version);
  shown.forEach(show);
  store.changed("state");
  store.changed("predictions");
  if (news) say(news);
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

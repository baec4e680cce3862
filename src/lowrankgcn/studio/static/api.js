// Requests to the server of this page.

/** The server does not answer; it may come back. */
export class Unreachable extends Error {}

/** The server refuses a request; the message is its own. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, options = {}) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, { cache: "no-store", ...options });
  } catch {
    throw new Unreachable("The server does not answer.");
  }
  if (answer.ok) return answer;
  const text = await answer.text().catch(() => "");
  let message = text.trim();
  try {
    message = JSON.parse(text).error ?? message;
  } catch {
    // A refusal outside the API is plain text.
  }
  throw new Refused(answer.status, message || `The server answered with status ${answer.status}.`);
}

async function body(answer, read) {
  try {
    return await answer[read]();
  } catch {
    throw new Unreachable("The server ended in the middle of an answer.");
  }
}

export const get = async (path, options) => body(await request(path, options), "json");
export const binary = async path => body(await request(path), "arrayBuffer");
/** Send a change. A server that does not confirm it in time counts as away; `seconds` 0 waits for ever. */
export const post = async (path, content = {}, seconds = 20) =>
  body(
    await request(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
      signal: seconds ? AbortSignal.timeout(1000 * seconds) : null,
    }),
    "json",
  );

const PAUSE = 1000; // milliseconds between two attempts to connect

/**
 * Listen to the server's events for as long as the page lives. A browser opens six connections to a server at most, and
 * each stream of events takes one: of all tabs one listens, and repeats to the others what it hears.
 */
export function listen(handlers) {
  const name = `events ${location.pathname}`;
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data: [event, value] }) => handlers[event](value);
  const heard = (event, value) => {
    channel.postMessage([event, value]);
    handlers[event](value);
  };
  if (navigator.locks) navigator.locks.request(name, () => new Promise(() => follow(heard)));
  else follow(heard);
}

/** Return a number by which the server counts the browsers that show the page. */
function browser() {
  if (!localStorage.getItem("browser")) localStorage.setItem("browser", Math.random().toString(36).slice(2));
  return localStorage.getItem("browser");
}

function follow(heard) {
  const source = new EventSource(`api/events?browser=${browser()}`);
  const again = () => {
    source.close();
    heard("closed");
    setTimeout(() => follow(heard), PAUSE);
  };
  source.addEventListener("open", () => heard("opened"));
  source.addEventListener("version", event => heard("version", Number(event.data)));
  source.addEventListener("bye", again);
  source.addEventListener("error", again);
}

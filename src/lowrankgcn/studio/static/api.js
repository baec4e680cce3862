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
    answer = await fetch(`/api/${path}`, { cache: "no-store", ...options });
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
export const post = async (path, content = {}) =>
  body(
    await request(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
    }),
    "json",
  );

const PAUSE = 1000; // milliseconds between two attempts to connect

/** Listen to the server's events for as long as the page lives. */
export function listen({ opened, version, closed }) {
  const source = new EventSource("/api/events");
  const again = () => {
    source.close();
    closed();
    setTimeout(() => listen({ opened, version, closed }), PAUSE);
  };
  source.addEventListener("open", opened);
  source.addEventListener("version", event => version(Number(event.data)));
  source.addEventListener("bye", again);
  source.addEventListener("error", again);
}

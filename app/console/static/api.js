// The client of the service's HTTP API. The key is kept in the session storage only.

const KEY = "daybook-key";
export const REFUSED = "daybook-key-refused"; // an event of the window: the key is missing, or no longer valid

const AWAY = { detail: "the service does not answer" };
const ANSWER_MS = 40_000; // longer than the service's own time-outs, whose answers say more
const AWAY_MS = 2_000; // before a stream is requested again
const [GONE_MS, GONE_MS_MAX] = [5_000, 60_000]; // the same for a missing session, doubled each time
const SILENT_MS = 45_000; // after which a stream counts as dead: the service sends something every 15 s

class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? `the service answered ${status}`);
    this.status = status;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => ((scope = null), sessionStorage.setItem(KEY, value)),
  forget: () => ((scope = null), sessionStorage.removeItem(KEY)),
};

let scope = null; // of the key, from the last response; null without a key

export const mayChange = () => scope !== "read";

const headers = (more = {}) => (key.get() ? { Authorization: `Bearer ${key.get()}`, ...more } : more);

const url = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return path.slice(1) + (text ? `?${text}` : "");
};

// The response to a request. Throws a Problem for a refusal, and one of status 0 if no response came.
async function asked(path, query, options) {
  const answer = await fetch(url(path, query), options).catch((error) => {
    throw error.name === "AbortError" ? error : new Problem(0, AWAY);
  });
  scope = answer.headers.get("Key-Scope") ?? scope;
  if (answer.ok) return answer;
  if (answer.status === 401) dispatchEvent(new Event(REFUSED));
  throw new Problem(answer.status, await answer.json().catch(() => null));
}

// Aborts if nothing arrives for `ms`: a service that hangs closes no connection, so its last state would stay on screen.
function patience(ms) {
  const stop = new AbortController();
  let timer = null;
  const end = () => clearTimeout(timer);
  const heard = () => (end(), (timer = setTimeout(() => stop.abort(new Problem(0, AWAY)), ms)));
  heard();
  return { heard, end, within: (signal) => (signal ? AbortSignal.any([signal, stop.signal]) : stop.signal) };
}

export async function call(method, path, { query, body, signal } = {}) {
  const patient = patience(ANSWER_MS);
  try {
    const answer = await asked(path, query, {
      method,
      signal: patient.within(signal),
      headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return await answer.json();
  } finally {
    patient.end();
  }
}

export const get = (path, query, signal) => call("GET", path, { query, signal });

// The items of the first `pages` pages of a list, and whether there are more.
export async function some(path, query, pages, signal) {
  const items = [];
  let cursor = null;
  for (let page = 0; page < pages && (page === 0 || cursor); page += 1) {
    const next = await get(path, { limit: 50, ...query, cursor }, signal);
    items.push(...next.items);
    cursor = next.next_cursor;
  }
  return { items, more: cursor !== null };
}

// All items of a list, up to 5,000: as many as a chart can show.
export const all = async (path, query, signal) => (await some(path, { limit: 500, ...query }, 10, signal)).items;

export const session = (name) => `/sessions/${encodeURIComponent(name)}`;
export const resource = (id) => `/resources/${encodeURIComponent(id)}`;

const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

// Server-sent events by fetch, because EventSource sends no Authorization header. After a break it resumes from the last
// event.
export async function listen(name, { signal, onEvent, onState }) {
  let last = null;
  let gone = 0; // times in a row
  while (!signal.aborted) {
    const patient = patience(SILENT_MS);
    let state = "away";
    try {
      const options = { signal: patient.within(signal), headers: headers(last ? { "Last-Event-ID": last } : {}) };
      const answer = await asked(`${session(name)}/memory/events`, {}, options);
      onState("live");
      gone = 0;
      for await (const event of events(answer.body, patient.heard)) {
        last = event.id ?? last;
        if (event.name) onEvent(event);
      }
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      if (error.status === 404) [state, last] = ["gone", null];
    } finally {
      patient.end();
    }
    onState(state);
    await pause(state === "gone" ? Math.min(GONE_MS * 2 ** gone++, GONE_MS_MAX) : AWAY_MS, signal);
  }
}

// The stream begins with an id alone: where to go on if no event comes.
async function* events(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    heard();
    text += part.value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.id) yield { name: fields.event, id: fields.id, data: fields.data && JSON.parse(fields.data) };
    }
  }
}

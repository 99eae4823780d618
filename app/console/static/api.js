// The service's HTTP contract as the console uses it. The key is kept in the session storage only.

const KEY = "daybook-key";
const PAGE = 500;

export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? `the service answered ${status}`);
    this.status = status;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

const headers = (more = {}) => (key.get() ? { Authorization: `Bearer ${key.get()}`, ...more } : more);

const url = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return path.slice(1) + (text ? `?${text}` : "");
};

export async function call(method, path, { query, body, signal } = {}) {
  const answer = await fetch(url(path, query), {
    method,
    signal,
    headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }),
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const found = answer.status === 204 ? null : await answer.json().catch(() => null);
  if (!answer.ok) throw new Problem(answer.status, found);
  return found;
}

export const get = (path, query, signal) => call("GET", path, { query, signal });

// Every page of a list, up to `most` items.
export async function all(path, query = {}, most = 2000, signal) {
  const items = [];
  let cursor = null;
  do {
    const page = await get(path, { ...query, limit: Math.min(PAGE, most - items.length), cursor }, signal);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < most);
  return items;
}

export const session = (name) => `/sessions/${encodeURIComponent(name)}`;

const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

// Server-sent events by fetch, because EventSource sends no Authorization header. Goes on after the last it heard.
export async function listen(name, { signal, onEvent, onState }) {
  let last = null;
  while (!signal.aborted) {
    try {
      const answer = await fetch(url(`${session(name)}/memory/events`), {
        signal,
        headers: headers(last ? { "Last-Event-ID": last } : {}),
      });
      if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => null));
      onState(true);
      for await (const event of events(answer.body)) {
        last = event.id ?? last;
        onEvent(event);
      }
    } catch (error) {
      if (signal.aborted || error.status === 404 || error.status === 401) return;
    }
    onState(false);
    await pause(2000, signal);
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.event) yield { name: fields.event, id: fields.id, data: JSON.parse(fields.data) };
    }
  }
}

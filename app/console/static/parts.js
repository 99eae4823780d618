// Small components and formatting functions that several views use.

import { html, useEffect, useRef, useState } from "./html.js";

export const count = new Intl.NumberFormat("en");
export const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
export const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 4 });
export const many = (number, one, several = `${one}s`) => `${count.format(number)} ${number === 1 ? one : several}`;
export const worded = (name) => name.replaceAll("_", " ");
const time = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const zoned = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

export const when = (text) => (text ? time.format(new Date(text)) : "");

// The time zone of all times on the page: the reader's, whereas logs and caps go by UTC.
export const zone = (text) => zoned.formatToParts(new Date(text)).find(({ type }) => type === "timeZoneName").value;

export function ago(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

export const Status = ({ of }) => html`<span class=${`status ${of}`}>${worded(of)}</span>`;

export const Notice = ({ kind = "info", children }) =>
  html`<p class=${`notice ${kind}`} role=${kind === "error" ? "alert" : "status"}>${children}</p>`;

// Shown until something is loaded: that it is loading, or why it failed.
export const Unread = ({ error }) => (error ? html`<${Notice} kind="error">${error}<//>` : html`<p aria-busy="true">Loading</p>`);

export const Figure = ({ name, value, hint, children }) =>
  html`<div><dt>${name}</dt><dd>${value}</dd>${hint && html`<dd class="hint">${hint}</dd>`}${children}</div>`;

// A button that can be off. It then keeps the keyboard's focus, which a `disabled` button loses.
export const Press = ({ off, onClick, children, ...more }) =>
  html`<button aria-disabled=${off ? "true" : undefined} onClick=${off ? undefined : onClick} ...${more}>${children}</button>`;

// Loads the next page of a list, of which `pages` were requested. It stays, off, after the last page, to keep the focus.
export const More = ({ more, pages, onClick }) => (more || pages > 1) && html`<${Press} off=${!more} onClick=${onClick}>More<//>`;

export function KeyAsk({ wrong, onKey }) {
  const [given, setGiven] = useState("");
  return html`<form class="card" onSubmit=${(event) => (event.preventDefault(), onKey(given.trim()))}>
    <h1>Daybook</h1>
    <label>Key <input type="password" autocomplete="off" required autofocus value=${given}
      onInput=${(event) => setGiven(event.target.value)} /></label>
    <p class="hint">An API key of the service, as daybook keys create prints it. It is kept in this tab until the tab is closed.</p>
    ${wrong && html`<${Notice} kind="error">The key is not valid.<//>`}
    <button class="main">Open</button>
  </form>`;
}

// A modal dialog: Escape, Cancel and a successful `onDo` close it; the focus then returns to where it was.
export function Ask({ title, does, danger, onDo, onClose, children }) {
  const dialog = useRef();
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(null);
  useEffect(() => dialog.current.showModal(), []);
  const submit = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await onDo(new FormData(event.target));
      dialog.current.close();
    } catch (error) {
      setFailed(error.message);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="ask-title">
    <form onSubmit=${submit}>
      <h2 id="ask-title">${title}</h2>
      ${children}
      ${failed && html`<${Notice} kind="error">${failed}<//>`}
      <div class="buttons">
        <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <${Press} class=${danger ? "danger" : "main"} off=${busy}>${does}<//>
      </div>
    </form>
  </dialog>`;
}

const LOOK_MS = 5000;

const passes = ({ status }) => status === 0 || status === 429 || status >= 500; // whether a later try may succeed

// Calls `look` in 5 seconds, or once the tab is visible after that.
const later = (look, signal) =>
  setTimeout(() => signal.aborted || (document.hidden ? later(look, signal) : look()), LOOK_MS);

// The result of `load`, which runs again when `keys` change, and after a failure that `mayPass`, because the event that
// led to it is not repeated. The former result stays while the next is loading, unless it is gone (404).
export function useLoaded(load, keys, mayPass = passes) {
  const [state, setState] = useState({ value: null, error: null });
  useEffect(() => {
    const stop = new AbortController();
    const failed = (error) => {
      if (stop.signal.aborted) return;
      setState(({ value }) => ({ value: error.status === 404 ? null : value, error: error.message }));
      if (mayPass(error)) later(look, stop.signal);
    };
    const look = () => load(stop.signal).then((value) => stop.signal.aborted || setState({ value, error: null }), failed);
    look();
    return () => stop.abort();
  }, keys);
  return [state.value, state.error];
}

// Calls `look` soon, and again 5 seconds after each answer while the tab is visible, so that one request runs at a time.
export function useLooks(look, keys, soonMs = 0) {
  useEffect(() => {
    const stop = new AbortController();
    const again = async () => {
      await look(stop.signal);
      later(again, stop.signal);
    };
    const timer = setTimeout(again, soonMs);
    return () => (stop.abort(), clearTimeout(timer));
  }, keys);
}

// Whether the tab is visible. A browser opens six connections to a host for all its tabs, and each stream takes one.
export function useSeen() {
  const [seen, setSeen] = useState(!document.hidden);
  useEffect(() => {
    const changed = () => setSeen(!document.hidden);
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  }, []);
  return seen;
}

export const numbers = ({ from, to }) => (from === to ? `#${from}` : `#${from}-${to}`);

// The address of messages of a session.
export const pageOf = (name, view) => `#/${encodeURIComponent(name)}${view ? `/${view}` : ""}`;
export const inTimeline = (name, from, to = from) => pageOf(name, from || to ? `timeline/${from}-${to}` : "timeline");

export const isShared = (memory) => memory.scope === "resource";

// A text with its citations `#12` and `#12-15` as links to the messages. In a shared memory a citation names its session,
// as in `#chat-7:12`, and may lead to another one.
export function cited(text, onCite, { name, memory }) {
  const cite = isShared(memory) ? /(#[\w.:@~=+-]{1,200}:\d+(?:-\d+)?)/ : /(#\d+(?:-\d+)?)/;
  return text.split(cite).map((piece, index) => {
    if (index % 2 === 0) return piece;
    const [, of, first, last] = /^#(?:(.+):)?(\d+)(?:-(\d+))?$/.exec(piece);
    if (of && of !== name)
      return html`<a class="cite" title=${`Show conversation ${of}`} href=${inTimeline(of, first, last)}>${piece}</a>`;
    const [from, to] = [Number(first), Number(last ?? first)];
    return html`<button class="cite" title=${`Show message ${piece}`} onClick=${() => onCite(from, to)}>${piece}</button>`;
  });
}

// The messages that a note covers; of a reflection in a shared memory its places in the log.
export function span(note, memory) {
  const range = `#${note.from_seq}-${note.to_seq}`;
  if (!isShared(memory)) return range;
  return note.level ? `places ${note.from_seq}-${note.to_seq}` : `${note.session} ${range}`;
}

const VAST = 20_000; // characters: more than fit on any screen

// Lets the keyboard scroll an element that is larger than its box: gives it a place in the tab order only then.
function useReachable(place, isOff = false) {
  useEffect(() => {
    if (isOff) return undefined;
    const resized = new ResizeObserver(([{ target }]) => {
      if (target.scrollHeight > target.clientHeight || target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
      else target.removeAttribute("tabindex");
    });
    resized.observe(place.current); // also when it becomes visible
    return () => resized.disconnect();
  });
}

// A part of the page that scrolls by itself where it does not fit, such as a wide table.
export function Scroll({ label, children, ...more }) {
  const place = useRef();
  useReachable(place);
  return html`<div ref=${place} role="region" aria-label=${label} ...${more} class=${`scroll ${more.class ?? ""}`}>${children}</div>`;
}

// Text as it was written. If it is longer than its box, it can be scrolled by keyboard too; if it is VAST, it is laid out
// only when it becomes visible.
export function Text({ children, ...more }) {
  const place = useRef();
  const isVast = typeof children === "string" && children.length > VAST;
  useReachable(place, isVast);
  if (isVast) return html`<pre ...${more} class=${`vast ${more.class ?? ""}`} tabindex="0">${children}</pre>`;
  return html`<pre ref=${place} ...${more}>${children}</pre>`;
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"]; // media types that every browser draws

function partText(part) {
  if (part.type === "text") return part.text;
  if (part.type === "reasoning") return part.text || "(reasoning)";
  if (part.type === "tool_call") return `${part.name}(${JSON.stringify(part.arguments)})`;
  if (part.type === "tool_result") return typeof part.output === "string" ? part.output : JSON.stringify(part.output);
  const label = `[${[part.type, part.name ?? part.url ?? part.media_type].filter(Boolean).join(": ")}]`;
  if (part.content == null) return label;
  return `${label}\n${typeof part.content === "string" ? part.content : JSON.stringify(part.content)}`;
}

function Part({ part }) {
  if (part.type !== "image" || !part.data || !PICTURES.includes(part.media_type)) return html`<${Text}>${partText(part)}<//>`;
  const base64 = part.data.replaceAll("-", "+").replaceAll("_", "/");
  return html`<img class="picture" alt=${part.name ?? "image"} src=${`data:${part.media_type};base64,${base64}`}/>`;
}

export const Message = ({ message, marked }) => html`
  <li class=${`message ${message.role} ${marked ? "marked" : ""}`} id=${`message-${message.seq}`} tabindex="-1">
    <div class="line"><b>#${message.seq}</b> <span>${message.role}</span>
      ${message.name && html`<span class="tag" title="The speaker's name">${message.name}</span>`}
      ${message.kind.includes("tool") && html`<span class="tag">${worded(message.kind)}</span>`}
      ${message.content.some((part) => part.is_error) && html`<span class="tag" title="The tool failed">error</span>`}
      ${message.trust !== "user" && html`<span class="tag">${message.trust}</span>`}
      ${message.erased_at ? html`<span class="tag" title=${`Erased ${when(message.erased_at)}`}>erased</span>`
        : message.sealed && html`<span class="tag" title="An observation covers it">sealed</span>`}
      <span class="right">${count.format(message.tokens)} tokens · ${when(message.created_at)}</span></div>
    ${message.content.map((part) => html`<${Part} part=${part}/>`)}
  </li>`;

// The list of sessions, with the status of each memory.

import { html, useEffect, useState } from "./html.js";
import { some } from "./api.js";
import { Options } from "./fields.js";
import { More, Notice, Status, ago, pageOf, short, useLooks, worded } from "./parts.js";

const STATUSES = ["idle", "due", "buffering", "observing", "reflecting", "backing_off", "stalled", "paused", "disabled"];

export function SessionList({ chosen, status, onStatus }) {
  const [search, setSearch] = useState("");
  const [pages, setPages] = useState(1);
  useEffect(() => setPages(1), [status]);
  const [found, setFound] = useState({ items: [], more: false, error: null, loaded: false });
  const look = (signal) =>
    some("/sessions", { search, status }, pages, signal).then(
      (page) => setFound({ ...page, error: null, loaded: true }),
      (error) => signal.aborted || setFound((former) => ({ ...former, error: error.message, loaded: true })),
    );
  useLooks(look, [search, status, pages], 150);
  return html`
    <div class="filters" role="search">
      <label class="wide">Search <input type="search" value=${search} placeholder="part of a key"
        onInput=${(event) => (setSearch(event.target.value.trim()), setPages(1))} /></label>
      <label>Status <select id="status" value=${status} onChange=${(event) => onStatus(event.target.value)}>
        <option value="">any</option>
        <${Options} of=${STATUSES} chosen=${status} label=${worded} />
      </select></label>
    </div>
    ${!found.loaded && html`<p class="hint" aria-busy="true">Loading</p>`}
    ${found.error && html`<${Notice} kind="error">${found.error}<//>`}
    ${found.loaded && !found.items.length && !found.error &&
      html`<p class="hint">${found.more ? "None so far." : search || status ? "No session matches." : "There is no session yet: a first message creates one."}</p>`}
    <ul class="sessions">${found.items.map((item) => html`<${Item} key=${item.session} item=${item} chosen=${item.session === chosen} />`)}</ul>
    <${More} more=${found.more} pages=${pages} onClick=${() => setPages(pages + 1)} />
  `;
}

const Item = ({ item, chosen }) => html`<li>
  <a href=${pageOf(item.session)} aria-current=${chosen ? "page" : undefined}>
    <span class="key">${item.session}</span> <${Status} of=${item.memory.status} />
    <span class="hint">${short.format(item.last_seq)} ${item.last_seq === 1 ? "message" : "messages"} · lag ${short.format(item.memory.pending_tokens)} tokens
      ${item.memory.pending_tokens > 0 && html` for ${ago(item.memory.pending_seconds)}`}</span>
    ${item.memory.last_error && html`<span class="wrong">${item.memory.last_error.message}</span>`}
  </a></li>`;

// Searches by recall, in a session or in all sessions of its resource.

import { html, useState } from "./html.js";
import { call, key, resource, session } from "./api.js";
import { Options, TimeField, fromField, toField } from "./fields.js";
import { More, Notice, Text, many, pageOf, useLoaded, when } from "./parts.js";
import { Source } from "./sources.js";

const KINDS = ["messages", "observations", "facts"];
const NEIGHBOURS = [0, 1, 2, 5];
const LIMITS = [20, 100]; // the service's maximum is 100
const score = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

let last = null; // the last search of this tab, restored when the reader comes back from a hit

const never = () => false; // a search may cost a model call: only its button repeats it

const formerly = (name) => (last?.name === name && last.key === key.get() ? last.search : null);

export function RecallView({ name, resourceId, onCite }) {
  const [search, setSearch] = useState(formerly(name));
  const [found, error] = useLoaded((signal) => searched({ name, resourceId, search }, signal), [search], never);
  const ask = (next) => {
    last = { name, key: key.get(), search: next };
    setSearch(next);
  };
  const isAsking = search !== null && found?.search !== search && !error;
  const limit = search?.limit;
  const hits = error ? [] : (found?.hits ?? []);
  return html`
    <${Form} resourceId=${resourceId} search=${search ?? {}} onSearch=${(form) => ask({ ...asked(form), limit: LIMITS[0] })} />
    <p class="hint" role="status" aria-busy=${isAsking ? "true" : undefined}>${isAsking ? "Searching" : !error && found && outcome(found, { name, resourceId })}</p>
    ${error && html`<${Notice} kind="error">${error}<//>`}
    <ol class="log" aria-label="Hits">${hits.map((hit) => html`<${Hit} hit=${hit} name=${name} onCite=${onCite} />`)}</ol>
    <${More} more=${!isAsking && hits.length === limit && limit < LIMITS.at(-1)} pages=${1 + LIMITS.indexOf(limit)}
      onClick=${() => ask({ ...search, limit: LIMITS.at(-1) })} />
  `;
}

async function searched({ name, resourceId, search }, signal) {
  if (!search) return null;
  const { everywhere, ...body } = search;
  const begun = performance.now();
  const { hits } = await call("POST", `${everywhere ? resource(resourceId) : session(name)}/recall`, { body, signal });
  return { hits, search, ms: Math.round(performance.now() - begun) };
}

function asked(form) {
  const given = new FormData(form);
  return {
    query: given.get("query"),
    everywhere: given.get("in") === "resource",
    kinds: given.get("kind") ? [given.get("kind")] : KINDS,
    neighbours: Number(given.get("neighbours")),
    since: fromField(given.get("since")),
    until: fromField(given.get("until")),
  };
}

function outcome({ hits, search, ms }, { name, resourceId }) {
  const where = search.everywhere ? `the sessions of ${resourceId}` : name;
  return hits.length ? `${many(hits.length, "hit")} in ${where}, best first (${ms} ms)` : `Nothing was found in ${where} (${ms} ms).`;
}

function Form({ resourceId, search, onSearch }) {
  return html`<form role="search" aria-label="Recall" onSubmit=${(event) => (event.preventDefault(), onSearch(event.target))}>
    <div class="filters"><label class="wide">Query <input type="search" name="query" dir="auto" required maxlength="10000"
        placeholder="words, or a question" defaultValue=${search.query} /></label>
      <button class="main">Search</button></div>
    <div class="filters">
      ${resourceId && html`<label>In <select name="in"><option value="session">this session</option>
        <option value="resource" selected=${search.everywhere}>all sessions of ${resourceId}</option></select></label>`}
      <label>Kind <select name="kind"><option value="">any</option>
        <${Options} of=${KINDS} chosen=${search.kinds?.length === 1 && search.kinds[0]} /></select></label>
      <label>Neighbours <select name="neighbours"><${Options} of=${NEIGHBOURS} chosen=${search.neighbours}
        label=${(number) => number || "none"} /></select></label>
      <${TimeField} label="Since" name="since" defaultValue=${toField(search.since)} />
      <${TimeField} label="Until" name="until" defaultValue=${toField(search.until)} />
    </div>
  </form>`;
}

const Hit = ({ hit, name, onCite }) => html`<li class=${`note hit ${hit.kind} ${hit.role ?? ""}`}>
  <div class="line"><b>${hit.kind}</b> <span>${[hit.role, hit.name].filter(Boolean).join(" ")}</span>
    ${hit.trust && hit.trust !== "user" && html`<span class="tag" title="Trust: whose word it is">${hit.trust}</span>`}
    ${hit.session ? html`<${Source} of=${hit.session} ...${hit} name=${name} onCite=${onCite} />`
      : html`<a href=${pageOf(name, "facts")}>written by hand</a>`}
    <span class="right"><span title="Comparable within one answer only">score ${score.format(hit.score)}</span> · ${
      hit.kind === "fact" && "since "}${when(hit.created_at)}</span></div>
  <${Beside} those=${hit.neighbours.filter(({ seq }) => seq < hit.from_seq)} />
  <${Text}>${hit.text}<//>
  <${Beside} those=${hit.neighbours.filter(({ seq }) => seq > hit.from_seq)} />
</li>`;

const Beside = ({ those }) => those.map((message) => html`<${Text} class="beside">#${message.seq} ${message.role}: ${message.text}<//>`);

// The facts of the session's resource by category, current and past.

import { html, useEffect, useRef, useState } from "./html.js";
import { call, mayChange, resource, some } from "./api.js";
import { CATEGORIES, Fact, FactFields, noted } from "./fact.js";
import { Options, TimeField, fromField, toField } from "./fields.js";
import { Ask, More, Notice, Press, Unread, useLoaded } from "./parts.js";

const VALIDITIES = ["current", "past", "all"];
const AT_FIRST = { category: "", validity: "current", at: null, words: "" };

export function FactsView(props) {
  if (!props.resourceId) return html`<p>This session belongs to no resource, and only resources have facts.</p>`;
  return html`<${Facts} ...${props} />`;
}

function Facts({ name, resourceId, change, again, onCite }) {
  const path = `${resource(resourceId)}/facts`;
  const [wanted, setWanted] = useState(AT_FIRST);
  const [pages, setPages] = useState(1);
  const want = (field, value) => (setWanted({ ...wanted, [field]: value }), setPages(1));
  const [asking, setAsking] = useState(null);
  const { category, validity, at } = wanted;
  const words = wanted.words.trim().toLocaleLowerCase();
  const isLooking = words !== ""; // the service cannot search facts by words, so all are loaded
  const [found, error] = useLoaded(
    (signal) => some(path, { category, validity, at, limit: isLooking ? 500 : 50 }, isLooking ? 10 : pages, signal),
    [path, change, category, validity, at, pages, isLooking],
  );
  const [led, lead] = useLed(found);
  const show = (id) => (setWanted({ ...AT_FIRST, validity: "all" }), setPages(Infinity), lead({ id }));
  if (!found) return html`<${Unread} error=${error} />`;
  const shown = found.items.filter((fact) => fact.text.toLocaleLowerCase().includes(words));
  return html`
    <${Filters} wanted=${wanted} onWant=${want} />
    <div class="head"><p class="hint">Facts about ${resourceId} that outlive a session, oldest first.</p>
      ${mayChange() && html`<div class="buttons"><button onClick=${() => setAsking("add")}>Add</button>
        <${Press} class="danger" off=${!found.items.length} onClick=${() => setAsking("delete")}>Delete all<//></div>`}</div>
    ${error && html`<${Notice} kind="error">${error}<//>`}
    ${shown.length === 0 && html`<p>${isNarrowed(wanted) ? "No fact matches." : `There is no current fact about ${resourceId}.`}</p>`}
    ${Object.entries(CATEGORIES).map(([id, heading]) => {
      const those = shown.filter((fact) => fact.category === id);
      return those.length > 0 && html`<h2>${heading} <span class="tag">${those.length}${found.more && "+"}</span></h2>
        <ol class="log" aria-label=${heading}>${those.map((fact) => html`<${Fact} key=${fact.id} fact=${fact} path=${path} at=${at}
          name=${name} marked=${fact.id === led?.id} again=${again} onCite=${onCite} onShow=${show} />`)}</ol>`;
    })}
    <${More} more=${found.more} pages=${pages} onClick=${() => setPages(pages + 1)} />
    ${asking === "add" && html`<${Ask} title=${`Add a fact about ${resourceId}`} does="Add" onClose=${() => setAsking(null)}
        onDo=${async (form) => (await call("POST", path, { body: noted(form, name) }), again())}>
        <${FactFields} session=${name} /><//>`}
    ${asking === "delete" && html`<${Ask} title=${`Delete all facts of ${resourceId}?`} does="Delete all" danger onClose=${() => setAsking(null)}
        onDo=${async () => (await call("DELETE", path), again())}>
        <p>Past facts and those that the filters hide are deleted too. The sessions stay, and are not read again for facts.</p><//>`}
  `;
}

const isNarrowed = ({ category, validity, at, words }) => category || validity !== "current" || at || words.trim();

// Focuses the fact that ended another one, once it is loaded.
function useLed(found) {
  const [led, lead] = useState(null);
  const done = useRef(null);
  useEffect(() => {
    const fact = led !== done.current && document.getElementById(`fact-${led.id}`);
    if (!fact) return;
    done.current = led;
    fact.focus();
  }, [led, found]);
  return [led, lead];
}

const Filters = ({ wanted, onWant }) => html`<div class="filters" role="search" aria-label="Facts">
  <label class="words">Contains <input type="search" dir="auto" value=${wanted.words} placeholder="part of a fact"
    onInput=${(event) => onWant("words", event.target.value)} /></label>
  <label>Category <select onChange=${(event) => onWant("category", event.target.value)}><option value="">any</option>
    <${Options} of=${Object.keys(CATEGORIES)} chosen=${wanted.category} /></select></label>
  <label>Show <select onChange=${(event) => onWant("validity", event.target.value)}>
    <${Options} of=${VALIDITIES} chosen=${wanted.validity} /></select></label>
  <${TimeField} label="At (empty: now)" value=${toField(wanted.at)} onChange=${(event) => onWant("at", fromField(event.target.value))} />
</div>`;

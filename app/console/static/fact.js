// Shows one fact with its validity, author and sources; it can be corrected, ended and deleted.

import { html, useState } from "./html.js";
import { call, mayChange } from "./api.js";
import { Options, SEQS, TimeField, fromField, seqsOf, toField } from "./fields.js";
import { Ask, Text, when } from "./parts.js";
import { Source } from "./sources.js";

export const CATEGORIES = {
  profile: "Profile",
  preference: "Preferences",
  decision: "Decisions",
  commitment: "Commitments",
  insight: "Insights",
};
const TRUSTS = ["operator", "user", "tool", "external"];

export function Fact({ fact, path, at, name, marked, again, onCite, onShow }) {
  const [asking, setAsking] = useState(null);
  const standing = standingOf(fact, at ? new Date(at) : new Date());
  const change = async (body) => (await call("PATCH", `${path}/${fact.id}`, { body }), again());
  const close = () => setAsking(null);
  const told = [
    `${fact.author === "caller" ? "Written by hand" : "Noted by the memory"} ${when(fact.created_at)}`,
    ...fact.sources.map((source) => html`<${Source} of=${source.session} ...${source} name=${name} onCite=${onCite} />`),
    fact.replaced_by && html`ended by <button class="cite" onClick=${() => onShow(fact.replaced_by)}>fact ${fact.replaced_by}</button>`,
  ].filter(Boolean);
  return html`<li class=${`note fact ${standing} ${marked ? "marked" : ""}`} id=${`fact-${fact.id}`} tabindex="-1">
    <div class="line"><b>fact ${fact.id}</b> <span class="tag">${standing}</span>
      <span class="tag" title="Trust: whose word it is">${fact.trust}</span>
      <span class="right">${interval(fact)}</span></div>
    <${Text}>${fact.text}<//>
    <div class="line"><span class="hint">${told.map((each, index) => html`${index > 0 && " · "}${each}`)}</span>
      ${mayChange() && html`<div class="buttons"><button onClick=${() => setAsking("edit")}>Edit</button>
        ${standing === "current" && html`<button onClick=${() => setAsking("end")}>End</button>`}
        <button class="danger" onClick=${() => setAsking("delete")}>Delete</button></div>`}</div>
    ${asking === "edit" && html`<${Ask} title=${`Edit fact ${fact.id}`} does="Save" onClose=${close}
        onDo=${(form) => change(corrected(form, fact))}><${FactFields} fact=${fact} /><//>`}
    ${asking === "end" && html`<${Ask} title=${`End fact ${fact.id} now?`} does="End" onClose=${close}
        onDo=${() => change({ valid_to: new Date().toISOString() })}>
        <p>It ends now and stays in the list of past facts. To end it at another time, edit its To.</p><//>`}
    ${asking === "delete" && html`<${Ask} title=${`Delete fact ${fact.id}?`} does="Delete" danger onClose=${close}
        onDo=${async () => (await call("DELETE", `${path}/${fact.id}`), again())}>
        <p>The fact that it had replaced is current again. The memory does not note it again from the same messages.</p><//>`}
  </li>`;
}

function standingOf({ valid_from, valid_to }, at) {
  if (new Date(valid_from) > at) return "future";
  return valid_to && new Date(valid_to) <= at ? "past" : "current";
}

const interval = ({ valid_from, valid_to }) => (valid_to ? `${when(valid_from)} to ${when(valid_to)}` : `since ${when(valid_from)}`);

// A new fact, of a `session`, also has its trust and the messages that it rests on: neither can be changed later.
export const FactFields = ({ fact = {}, session }) => html`
  <label>Fact <textarea name="text" rows="3" dir="auto" required>${fact.text}</textarea></label>
  <div class="filters">
    <label>Category <select name="category"><${Options} of=${Object.keys(CATEGORIES)} chosen=${fact.category} /></select></label>
    ${session && html`<label>Trust <select name="trust"><${Options} of=${TRUSTS} /></select></label>`}
    <${TimeField} label="From" name="valid_from" defaultValue=${toField(fact.valid_from)} />
    <${TimeField} label="To" name="valid_to" defaultValue=${toField(fact.valid_to)} />
  </div>
  <p class="hint">${session ? "If From and To are empty, it is true from now on, without an end." : "If To is empty, it has no end."}</p>
  ${session && html`<label>Messages of ${session} it rests on <input name="cites" pattern=${SEQS} placeholder="none, or as in 3, 5-7" /></label>`}`;

export function noted(form, session) {
  const cites = seqsOf(form.get("cites"));
  return {
    text: form.get("text"),
    category: form.get("category"),
    trust: form.get("trust"),
    valid_from: fromField(form.get("valid_from")),
    valid_to: fromField(form.get("valid_to")),
    sources: cites.length ? [{ session, cites }] : [],
  };
}

// The changed fields. A field shows a time to the minute only, so an unchanged one is not sent: it would lose its seconds.
function corrected(form, fact) {
  const times = ["valid_from", "valid_to"].filter((field) => form.get(field) !== toField(fact[field]));
  const words = ["text", "category"].filter((field) => form.get(field) !== fact[field]);
  return Object.fromEntries([
    ...times.map((field) => [field, fromField(form.get(field))]),
    ...words.map((field) => [field, form.get(field)]),
  ]);
}

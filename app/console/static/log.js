// The log as the model sees it, each line linked to the messages it cites; notes can be edited and deleted.

import { html, useState } from "./html.js";
import { all, call, mayChange, session } from "./api.js";
import { Ask, Notice, Text, cited, count, span, useLoaded, when } from "./parts.js";

export function LogView({ name, memory, change, again, onCite }) {
  const [asking, setAsking] = useState(null);
  const [found, error] = useLoaded(
    async (signal) => {
      const base = `${session(name)}/memory`;
      const reflections = await all(`${base}/reflections`, { status: "active" }, signal);
      const observations = await all(`${base}/observations`, { status: "active" }, signal);
      reflections.sort((one, other) => other.level - one.level || one.from_seq - other.from_seq);
      observations.sort((one, other) => one.place - other.place);
      return [...reflections.map((note) => ({ ...note, of: "reflections" })), ...observations.map((note) => ({ ...note, of: "observations" }))];
    },
    [name, change],
  );
  if (error && !found) return html`<${Notice} kind="error">${error}<//>`;
  if (!found) return html`<p aria-busy="true">Loading</p>`;
  const path = (note) => `${session(name)}/memory/${note.of}/${note.id}`;
  return html`
    <p class="hint">Version ${memory.log.version}, ${count.format(memory.log.tokens)} tokens. A number leads to the messages a line cites.</p>
    ${found.length === 0 && html`<p>Nothing is remembered yet.</p>`}
    <ol class="log">${found.map((note) => html`<li key=${`${note.of} ${note.id}`} class=${`note ${note.of.slice(0, -1)}`}>
      <div class="line"><b>${note.of.slice(0, -1)} ${note.id}</b>
        ${note.level && html`<span class="tag">level ${note.level}</span>`}
        <span class="right">${span(note, memory)} · ${count.format(note.tokens)} tokens · ${when(note.created_at)}</span></div>
      <${Text}>${cited(note.text, onCite, { name, memory })}<//>
      ${mayChange() && html`<div class="buttons"><button onClick=${() => setAsking({ note, edit: true })}>Edit</button>
        <button class="danger" onClick=${() => setAsking({ note })}>Delete</button></div>`}
    </li>`)}</ol>
    ${asking?.edit && html`<${Ask} title=${`Edit ${asking.note.of.slice(0, -1)} ${asking.note.id}`} does="Save" onClose=${() => setAsking(null)}
        onDo=${async (form) => (await call("PATCH", path(asking.note), { body: { text: form.get("text") } }), again())}>
        <label>Lines <textarea name="text" rows="12" required>${asking.note.text}</textarea></label>
        <p class="hint">Makes one new version; the former stays in the past.</p><//>`}
    ${asking && !asking.edit && html`<${Ask} title=${`Delete ${asking.note.of.slice(0, -1)} ${asking.note.id}?`} does="Delete" danger
        onClose=${() => setAsking(null)} onDo=${async () => (await call("DELETE", path(asking.note)), again())}>
        <p>It leaves the log; its messages are not observed again.</p><//>`}
  `;
}

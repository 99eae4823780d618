// Shows the log as the model sees it, each line linked to the messages it cites; notes can be edited and deleted.

import { html, useState } from "./html.js";
import { all, call, mayChange, session } from "./api.js";
import { Ask, Text, Unread, cited, count, span, useLoaded, when } from "./parts.js";

export function LogView({ name, memory, change, again, onCite }) {
  const [asking, setAsking] = useState(null);
  const close = () => setAsking(null);
  const list = (kind) => `${session(name)}/memory/${kind}s`;
  const active = async (kind, signal) =>
    (await all(list(kind), { status: "active" }, signal)).map((note) => ({ ...note, kind }));
  const [found, error] = useLoaded(
    async (signal) => {
      const reflections = await active("reflection", signal);
      const observations = await active("observation", signal);
      reflections.sort((one, other) => other.level - one.level || one.from_seq - other.from_seq);
      observations.sort((one, other) => one.place - other.place);
      return [...reflections, ...observations];
    },
    [name, change],
  );
  if (!found) return html`<${Unread} error=${error} />`;
  const { chosen, edit } = asking ?? {};
  const path = chosen && `${list(chosen.kind)}/${chosen.id}`;
  return html`
    <p class="hint">Version ${memory.log.version}, ${count.format(memory.log.tokens)} tokens. The numbers link to the messages that a line cites.</p>
    ${found.length === 0 && html`<p>There are no notes yet.</p>`}
    <ol class="log">${found.map((note) => html`<li key=${`${note.kind} ${note.id}`} class=${`note ${note.kind}`}>
      <div class="line"><b>${note.kind} ${note.id}</b>
        ${note.level && html`<span class="tag">level ${note.level}</span>`}
        <span class="right">${span(note, memory)} · ${count.format(note.tokens)} tokens · ${when(note.created_at)}</span></div>
      <${Text}>${cited(note.text, onCite, { name, memory })}<//>
      ${mayChange() && html`<div class="buttons"><button onClick=${() => setAsking({ chosen: note, edit: true })}>Edit</button>
        <button class="danger" onClick=${() => setAsking({ chosen: note })}>Delete</button></div>`}
    </li>`)}</ol>
    ${chosen && edit && html`<${Ask} title=${`Edit ${chosen.kind} ${chosen.id}`} does="Save" onClose=${close}
        onDo=${async (form) => (await call("PATCH", path, { body: { text: form.get("text") } }), again())}>
        <label>Lines <textarea name="text" rows="12" dir="auto" required>${chosen.text}</textarea></label>
        <p class="hint">Saving makes a new version; past versions keep the old text.</p><//>`}
    ${chosen && !edit && html`<${Ask} title=${`Delete ${chosen.kind} ${chosen.id}?`} does="Delete" danger onClose=${close}
        onDo=${async () => (await call("DELETE", path), again())}>
        <p>It leaves the log, and its messages are not observed again. Past versions keep it.</p><//>`}
  `;
}

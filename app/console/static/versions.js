// The history of the log: a slider over its versions, the changes of each, and the log as it was.

import { html, useEffect, useState } from "./html.js";
import { all, get, session } from "./api.js";
import { Notice, Text, cited, count, numbers, useLoaded, when } from "./parts.js";

export function VersionsView({ name, memory, change, onCite }) {
  const newest = memory.log.version;
  const [version, setVersion] = useState(newest);
  const [follow, setFollow] = useState(true);
  useEffect(() => {
    if (follow) setVersion(newest);
  }, [newest, follow]);
  const [versions, error] = useLoaded((signal) => all(`${session(name)}/memory/versions`, {}, signal), [name, change]);
  const [log] = useLoaded((signal) => get(`${session(name)}/memory/log`, { version }, signal), [name, version]);
  const [diff, diffError] = useLoaded(
    async (signal) => version > 0
      ? get(`${session(name)}/context/diff`, { from_version: version - 1, to_version: version }, signal) : null,
    [name, version],
  );
  if (error && !versions) return html`<${Notice} kind="error">${error}<//>`;
  if (newest === 0) return html`<p class="hint">The log has no version yet: nothing was observed.</p>`;
  const told = versions?.find((each) => each.version === version);
  return html`
    <div class="slider"><label for="version">Version</label>
      <input id="version" type="range" min="0" max=${newest} value=${version}
        onInput=${(event) => (setVersion(Number(event.target.value)), setFollow(Number(event.target.value) === newest))} />
      <output for="version">${version} of ${newest}</output></div>
    ${told && html`<p class="hint">${told.cause}, ${when(told.at)}: messages to #${told.last_seq}, observed to #${told.observed_seq},
      shown from #${told.tail_from_seq}.</p>`}
    ${diff && html`<${Diff} diff=${diff} />`}
    ${diffError && html`<${Notice} kind="error">${diffError}<//>`}
    ${log && html`<h2>The log at version ${log.version}</h2><p class="hint">${count.format(log.tokens)} tokens</p>
      <${Text} class="payload">${cited(log.text, onCite, { name, memory })}<//>`}
  `;
}

const ranges = (found) => found.map(numbers).join(", ");

function Diff({ diff }) {
  const { entered, left } = diff.messages;
  const changes = [
    ...diff.left.map((change) => ({ ...change, how: "left" })),
    ...diff.entered.map((change) => ({ ...change, how: "entered" })),
  ];
  return html`<h2>What version ${diff.to_version} changed</h2>
    <ul class="log">${changes.map((change) => html`<li key=${`${change.kind} ${change.id} ${change.how}`} class=${`note change ${change.how}`}>
      <div class="line"><b>${change.how === "left" ? "−" : "+"} ${change.kind} ${change.id}</b> <span class="tag">${change.why}</span>
        <span class="right">#${change.from_seq}-${change.to_seq} · ${count.format(change.tokens)} tokens</span></div>
      <details><summary>Text</summary><${Text}>${change.text}<//></details></li>`)}</ul>
    ${left.length > 0 && html`<p class="hint">No longer shown as messages: ${ranges(left)}</p>`}
    ${entered.length > 0 && html`<p class="hint">Now shown as messages: ${ranges(entered)}</p>`}`;
}

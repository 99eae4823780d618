// Shows the compiled context in any format, its segments coloured by how long each stays unchanged.

import { html, useState } from "./html.js";
import { get, session } from "./api.js";
import { Options } from "./fields.js";
import { Notice, Scroll, Text, count, useLoaded } from "./parts.js";

const FORMATS = ["neutral", "anthropic", "openai", "openai-responses", "gemini", "text"];

// Requested as of a past moment, because the agent's next context would otherwise be compared with this one.
export function ContextView({ name, memory }) {
  const [format, setFormat] = useState("anthropic");
  const now = { as_of_version: memory.log.version, as_of_seq: memory.cursor.last_seq };
  const [found, error] = useLoaded(
    (signal) => get(`${session(name)}/context`, { format, explain: true, ...now }, signal),
    [name, memory, format],
  );
  return html`
    <div class="filters"><label>Format <select onChange=${(event) => setFormat(event.target.value)}>
      <${Options} of=${FORMATS} chosen=${format} /></select></label></div>
    ${error && html`<${Notice} kind="error">${error}<//>`}
    ${!found && !error && html`<p aria-busy="true">Loading</p>`}
    ${found && html`<${Compiled} found=${found} />`}
  `;
}

function Compiled({ found }) {
  const { tokens, cache, segments } = found;
  const total = Math.max(tokens.total, 1);
  return html`
    <p class="hint">${count.format(tokens.total)} tokens, ${count.format(cache.stable_tokens)} of them in the cacheable prefix. Epoch ${cache.epoch}.</p>
    ${found.notices.map((notice) => html`<${Notice}>${notice}<//>`)}
    <div class="strip" role="img" aria-label="Segments by size">${segments.map(
      (segment) => html`<i class=${`stays-${segment.stability}`} style=${{ width: `${(100 * segment.tokens) / total}%` }}
        title=${`${segment.id}: ${segment.tokens} tokens, ${segment.stability}`}></i>`)}</div>
    <${Scroll} label="Segments" class="segments"><table><caption>Segments in order</caption>
      <thead><tr><th>Segment</th><th>Section</th><th>Role</th><th>Stability</th><th class="number">Tokens</th><th>Hash</th><th>Cache</th></tr></thead>
      <tbody>${segments.map((segment) => html`<tr><td>${segment.id}</td><td>${segment.section}</td><td>${segment.role}</td>
        <td><i class=${`dot stays-${segment.stability}`}></i>${segment.stability}</td><td class="number">${count.format(segment.tokens)}</td>
        <td><code>${segment.sha256.slice(0, 10)}</code></td><td>${segment.breakpoint ? "breakpoint" : ""}</td></tr>`)}</tbody>
    </table><//>
    <details open><summary>Payload</summary><${Text} class="payload">${
      found.payload.text ?? JSON.stringify(found.payload, null, 2)}<//></details>
    <details><summary>Decisions (${found.decisions.length})</summary>
      <ul>${found.decisions.map((decision) => html`<li><b>${decision.id}</b> ${decision.verdict}: ${decision.reason}</li>`)}</ul></details>
  `;
}

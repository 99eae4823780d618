// Lists the calls of the observer and the reflector with cost, latency and outcome.

import { html, useState } from "./html.js";
import { session, some } from "./api.js";
import { Options } from "./fields.js";
import { More, Notice, Scroll, Text, Unread, count, dollars, useLoaded, when, worded } from "./parts.js";

export function RunsView({ name, change }) {
  const [asked, ask] = useState({ outcome: "", pages: 1 });
  const { outcome, pages } = asked;
  const [found, error] = useLoaded(
    async (signal) => ({ asked, ...(await some(`${session(name)}/memory/runs`, { outcome }, pages, signal)) }),
    [name, change, asked],
  );
  if (!found) return html`<${Unread} error=${error} />`;
  return html`
    <div class="filters"><label>Outcome <select onChange=${(event) => ask({ outcome: event.target.value, pages: 1 })}>
      <option value="">any</option><${Options} of=${["recorded", "rejected", "failed"]} chosen=${outcome} /></select></label></div>
    ${error && found.asked !== asked && html`<${Notice} kind="error">${error}<//>`}
    <${Scroll} label="Table of runs" class="runs"><table><caption>Newest first; In, Cached and Out are tokens</caption>
      <thead><tr><th>At</th><th>Step</th><th>Outcome</th><th>Messages</th><th>Model</th><th class="number">In</th><th class="number">Cached</th>
        <th class="number">Out</th><th class="number">Cost</th><th class="number">ms</th></tr></thead>
      <tbody>${found.items.map((run) => html`<tr key=${run.id} class=${run.outcome}><td>${when(run.at)}</td><td>${worded(run.kind)}</td>
        <td>${run.outcome}${run.error && html`<span class=${run.outcome === "recorded" ? "hint" : "wrong"}>${run.error}</span>`}
          ${run.rejected_output && html`<details><summary>Output</summary><${Text}>${run.rejected_output}<//></details>`}</td>
        <td>${run.session === name ? "" : run.session}${run.from_seq === null ? "" : ` #${run.from_seq}-${run.to_seq}`}</td><td>${run.model}</td>
        <td class="number">${count.format(run.input_tokens)}</td><td class="number">${count.format(run.cached_input_tokens)}</td>
        <td class="number">${count.format(run.output_tokens)}</td>
        <td class="number">${run.cost_usd === null ? "unknown" : dollars.format(run.cost_usd)}</td>
        <td class="number">${count.format(run.latency_ms)}</td></tr>`)}</tbody>
    </table><//>
    ${found.items.length === 0 && html`<p class="hint">${found.asked.outcome ? "No run has this outcome." : "There is no run yet."}</p>`}
    <${More} more=${found.more} pages=${pages} onClick=${() => ask({ outcome, pages: pages + 1 })} />
  `;
}

// One session: the state of its memory, and its views, refreshed at each event.

import { html, useEffect, useRef, useState } from "./html.js";
import { call, get, listen, mayChange, session } from "./api.js";
import { Ask, Figure, Notice, Scroll, Status, ago, count, dollars, inTimeline, many, pageOf, short, useLoaded, useSeen, when } from "./parts.js";
import { CoverageMap } from "./coverage.js";
import { Timeline } from "./timeline.js";
import { LogView } from "./log.js";
import { FactsView } from "./facts.js";
import { RecallView } from "./recall.js";
import { ContextView } from "./context.js";
import { RunsView } from "./runs.js";
import { VersionsView } from "./versions.js";

const VIEWS = {
  timeline: ["Timeline", Timeline],
  log: ["Log", LogView],
  facts: ["Facts", FactsView],
  recall: ["Recall", RecallView],
  context: ["Context", ContextView],
  versions: ["Versions", VersionsView],
  runs: ["Runs", RunsView],
};
const TOLD_MAX = 40;

// The newest events, whether their stream is live, and a number that changes with each burst of events.
function useEvents(name) {
  const [told, setTold] = useState([]);
  const [live, setLive] = useState(false);
  const [change, setChange] = useState(0);
  const again = () => setChange((number) => number + 1);
  const was = useRef(null); // the state of the stream: live, away, or gone (the session was deleted)
  const seen = useSeen();
  useEffect(() => {
    if (!seen) return undefined;
    const stop = new AbortController();
    let timer = null;
    const onState = (state) => {
      setLive(state === "live");
      // events were missed meanwhile
      if (was.current && state !== was.current && state !== "away") again();
      was.current = state;
    };
    const onEvent = (event) => {
      setTold((former) => [event, ...former].slice(0, TOLD_MAX));
      timer ??= setTimeout(() => ((timer = null), again()), 200);
    };
    listen(name, { signal: stop.signal, onEvent, onState });
    return () => (stop.abort(), clearTimeout(timer), onState("away"));
  }, [name, seen]);
  return { told, live, change, again };
}

export function SessionPage({ name, tab, cite }) {
  const events = useEvents(name);
  const [found, error] = useLoaded(async (signal) => {
    const [memory, about] = await Promise.all(["/memory", ""].map((of) => get(session(name) + of, {}, signal)));
    return { memory, about };
  }, [name, events.change]);
  const show = (from, to) => {
    const hash = inTimeline(name, from, to);
    if (hash === location.hash) dispatchEvent(new Event("hashchange")); // the same address: load again, as the last try may have failed
    else location.hash = hash;
  };
  const back = html`<a class="back" href="#/">All sessions</a>`;
  if (error && !found) return html`${back}<h1>${name}</h1><${Notice} kind="error">${error}<//>`;
  if (!found) return html`${back}<p aria-busy="true">Loading</p>`;
  const { memory, about } = found;
  const resourceId = about.resource_id;
  const view = Object.hasOwn(VIEWS, tab) ? tab : "timeline";
  const [label, View] = VIEWS[view];
  return html`
    ${back}
    ${error && html`<${Notice} kind="error">${error}<//>`}
    <${Head} name=${name} memory=${memory} about=${about} events=${events} />
    <${CoverageMap} memory=${memory} onShow=${show} />
    <nav class="tabs" aria-label="Views">
      ${Object.entries(VIEWS).filter(([id]) => id !== "facts" || resourceId).map(
        ([id, [named]]) => html`<a href=${pageOf(name, id)}
          aria-current=${id === view ? "page" : undefined}>${named}</a>`,
      )}
    </nav>
    <section aria-label=${label}>
      <${View} key=${about.created_at} name=${name} memory=${memory} resourceId=${resourceId} change=${events.change} again=${events.again} cite=${cite} onCite=${show} />
    </section>
  `;
}

function Head({ name, memory, about, events }) {
  const [done, setDone] = useState(null);
  const [asking, setAsking] = useState(null);
  const act = async (step) => {
    setDone({ kind: "info", text: `${step}: sent` });
    try {
      await call("POST", `${session(name)}/memory/${step}`);
      setDone({ kind: "info", text: `${step}: requested` });
    } catch (problem) {
      setDone({ kind: "error", text: problem.message });
    }
    events.again();
  };
  const [spent, tokens] = ["cost_usd", "output_tokens"].map((what) => memory.usage.observer[what] + memory.usage.reflector[what]);
  const isPriced = spent > 0 || !tokens; // a call of unknown price counts as $0
  return html`
    <div class="head">
      <h1>${name}</h1> <${Status} of=${memory.status} />
      ${about.resource_id && html`<span class="tag" title="Its resource">${about.resource_id}</span>`}
      ${about.parent && html`<span class="tag">branch of <a href=${inTimeline(about.parent.key, about.parent.at_seq)}>${about.parent.key} #${about.parent.at_seq}</a></span>`}
      ${about.ended_at && html`<span class="tag" title=${`Ended ${when(about.ended_at)}`}>ended</span>`}
      <span class=${`live ${events.live ? "on" : ""}`} role="status">${events.live ? "live" : "not live"}</span>
      ${mayChange() && html`<div class="buttons">
        <button title="Take notes of what waits, now" onClick=${() => act("observe")}>Observe</button>
        <button title="Condense the observations, now" onClick=${() => act("reflect")}>Reflect</button>
        <button title="Try what failed again, now" onClick=${() => act("redrive")}>Redrive</button>
        <button class="danger" onClick=${() => setAsking("observations")}>Clear observations</button>
        <button class="danger" onClick=${() => setAsking("reflections")}>Clear reflections</button>
      </div>`}
    </div>
    ${asking && html`<${Ask} title=${`Take all ${asking} out of the log?`} does="Clear" danger
        onClose=${() => setAsking(null)}
        onDo=${async () => (await call("DELETE", `${session(name)}/memory/${asking}`), setDone(null), events.again())}>
        <p>Past versions keep them. The messages stay, and are not observed again.</p><//>`}
    ${done && html`<${Notice} kind=${done.kind}>${done.text}<//>`}
    ${memory.last_error && html`<${Notice} kind="error">
      ${memory.last_error.step}${memory.last_error.session && ` of ${memory.last_error.session}`}: ${memory.last_error.message}${
        memory.attempts > 0 && ` (attempt ${memory.attempts}${memory.next_attempt_at ? `, next ${when(memory.next_attempt_at)}` : ""})`}<//>`}
    ${memory.coverage.gaps.length > 0 && html`<${Notice} kind="error">Messages that no note covers and no context shows:
      ${memory.coverage.gaps.map((gap) => `#${gap.from}-${gap.to}`).join(", ")}<//>`}
    <${Scroll} label="Figures" class="row"><dl class="figures">
      <${Figure} name="Messages" value=${count.format(memory.cursor.last_seq)} />
      <${Figure} name="Waiting" value=${`${short.format(memory.pending.tokens)} / ${short.format(memory.thresholds.observe_at)}`}
        hint=${waiting(memory)} />
      <${Figure} name="Log" value=${short.format(memory.log.tokens)}
        hint=${`tokens in ${many(memory.log.observations, "observation")}, ${many(memory.log.reflections, "reflection")}; version ${memory.log.version}`} />
      <${Figure} name="Compression" value=${memory.compression.ratio ? `${memory.compression.ratio} x` : "none yet"}
        hint=${memory.compression.ratio && `${short.format(memory.compression.source_tokens)} tokens in ${short.format(memory.compression.log_tokens)}`} />
      <${Figure} name="Buffered" value=${count.format(memory.buffered.observations)}
        hint=${`${memory.buffered.observations === 1 ? "observation" : "observations"} made ahead, of ${short.format(memory.buffered.message_tokens)} tokens`} />
      <${Figure} name="Spent" value=${isPriced ? dollars.format(spent) : "not known"}
        hint=${`${many(memory.usage.observer.calls + memory.usage.reflector.calls, "call")}, now by ${[...new Set([memory.observer, memory.reflector])].join(", ")}`} />
      <${Figure} name="Cache hits" value=${memory.usage.actor.cache_hit_ratio === null ? "unknown"
        : `${Math.round(memory.usage.actor.cache_hit_ratio * 100)} %`} hint=${`the agent's, in ${many(memory.usage.actor.turns, "turn")}`} />
    </dl><//>
    ${memory.current_task && html`<p class="task"><b>Current task</b> <bdi>${memory.current_task}</bdi></p>`}
    <details class="told"><summary>Events (${events.told.length})</summary>
      ${events.told.length === 0 && html`<p class="hint">None since this page was opened.</p>`}
      <ol>${events.told.map((event) => html`<li><b>${event.name}</b> ${when(event.data.at)} ${told(event.data)}</li>`)}</ol>
    </details>
  `;
}

// The hint of Waiting: in a shared memory its tokens are those of all sessions, the messages are this session's.
function waiting({ scope, pending: { messages, seconds } }) {
  const age = messages > 0 ? `, ${ago(seconds)} old` : "";
  const where = scope === "resource" ? "tokens of all its sessions; here " : "tokens in ";
  return where + many(messages, "message") + age;
}

function told(data) {
  if (data.error) return data.session ? `${data.session}: ${data.error}` : data.error;
  if (data.version !== undefined) return `version ${data.version}`;
  if (data.from_seq === undefined) return "";
  return `${data.session ?? ""} #${data.from_seq}-${data.to_seq}${data.facts ? `: ${many(data.facts, "fact")}` : ""}`;
}

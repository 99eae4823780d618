// The overview of the service: readiness, queue, failures and cost, refreshed every 5 seconds.

import { html, useState } from "./html.js";
import { get, key } from "./api.js";
import { Figure, Notice, Scroll, ago, count, dollars, many, pageOf, short, useLooks, when, worded, zone } from "./parts.js";
import { attention } from "./attention.js";

const KEPT_MAX = 120; // samples in the curve: ten minutes
const AT_WORK = ["buffering", "observing", "reflecting"];
const WAITS = ["due", ...AT_WORK, "backing_off", "stalled", "paused"]; // not "idle": such a memory waits for nothing
const WIDTH = 1000;

const kept = []; // samples {at, tokens} of this tab and key, kept while a session is shown
let keptFor = null;

function keep(told) {
  if (keptFor !== key.get()) kept.length = 0;
  keptFor = key.get();
  kept.push({ at: told.at, tokens: waiting(told).tokens });
  kept.splice(0, kept.length - KEPT_MAX);
}

function useOverview() {
  const [found, setFound] = useState({});
  useLooks(async (signal) => {
    const [told, ready] = await Promise.allSettled(["/overview", "/readyz"].map((path) => get(path, {}, signal)));
    if (signal.aborted) return;
    if (told.value) keep(told.value);
    setFound((former) => ({
      told: told.value ?? former.told,
      ready: ready.value ?? { error: ready.reason.message },
      error: told.reason?.message,
    }));
  }, []);
  return found;
}

const sum = (items, of) => items.reduce((all, item) => all + of(item), 0);

function waiting(told) {
  const those = told.queue.memories.filter((each) => WAITS.includes(each.status));
  return { memories: sum(those, (each) => each.memories), tokens: sum(those, (each) => each.pending_tokens) };
}

export function OverviewPage({ onStatus }) {
  const { told, ready, error } = useOverview();
  if (!told && !error) return html`<p aria-busy="true">Loading</p>`;
  const items = attention({ told, ready });
  return html`
    <div class="head"><h1>Overview</h1>
      <span class=${`live ${error ? "" : "on"}`} role="status">${error ? "not live" : "live"}</span>
      <span class="hint right">${[ready.database, told && `${when(told.at)} ${zone(told.at)}`].filter(Boolean).join(" · ")}</span></div>
    ${error && error !== ready.error && html`<${Notice} kind="error">${error}<//>`}
    ${(items.length > 0 || !error) && html`<${Attention} items=${items} />`}
    ${told && html`<${Queue} told=${told} ready=${ready} onStatus=${onStatus} />
      <${Failing} causes=${told.failing} onStatus=${onStatus} />
      <${Process} process=${told.process} />`}
  `;
}

const Attention = ({ items }) => items.length
  ? html`<ul class="attention" aria-label="What needs attention">
      ${items.map((item) => html`<li class=${`notice ${item.kind}`}>${item.text}</li>`)}</ul>`
  : html`<p class="notice" role="status">Nothing needs attention.</p>`;

function Queue({ told, ready, onStatus }) {
  const { memories, complete, late_seconds } = told.queue;
  const more = complete ? "" : "+"; // not all memories were counted
  const of = (...names) => memories.filter((each) => names.includes(each.status));
  const figure = (name, those, hint) => html`<${Figure} name=${name}
    value=${count.format(sum(those, (each) => each.memories)) + (those.length ? more : "")}
    hint=${those.length ? hint ?? `${short.format(sum(those, (each) => each.pending_tokens))} tokens, the oldest ${
      ago(Math.max(...those.map((each) => each.oldest_seconds)))} old` : ""} />`;
  return html`
    <dl class="figures">
      <${Figure} name="Ready" value=${ready.error ? "no" : "yes"}
        hint=${ready.error ?? `schema ${ready.migration}${ready.migration === ready.known ? "" : `; this version has ${ready.known}`}`} />
      ${figure("Due", of("due"), `not begun for ${ago(late_seconds)}`)}
      ${figure("At work", of(...AT_WORK))}
      ${figure("Backing off", of("backing_off"))}
      ${figure("Stalled", of("stalled"))}
      ${figure("Paused by a cap", of("paused"))}
      <${Spending} spending=${told.spending} />
      ${told.process && html`<${Figure} name="Not indexed" value=${count.format(told.process.indexing.messages)}
        hint=${`messages of ${many(told.process.indexing.looked, "session")}${
          told.process.indexing.sessions > told.process.indexing.looked ? ` of ${told.process.indexing.sessions} that wait` : ""}`} />`}
      ${told.process?.vectors && html`<${Figure} name="Without a vector"
        value=${told.process.vectors.messages === null ? "not known yet" : count.format(told.process.vectors.messages)}
        hint=${`messages of sessions that wait: ${told.process.vectors.sessions}`} />`}
    </dl>
    <${Standings} memories=${of(...WAITS)} more=${more} onStatus=${onStatus} />
    ${kept.some((look) => look.tokens > 0) && html`<div class="pictures"><${Curve} /><${Ages} ages=${told.queue.ages} /></div>`}
  `;
}

function Spending({ spending }) {
  if (!spending) return html`<${Figure} name="Spent today" value="not counted" hint="no model is called, or no cap is set" />`;
  const { cap, tokens, cost_usd, unpriced_tokens } = spending.tenant;
  const inDollars = cap.cost_usd !== null;
  const share = Math.max(cap.tokens ? tokens / cap.tokens : 0, cap.cost_usd ? cost_usd / cap.cost_usd : 0);
  const capped = cap.tokens !== null || inDollars;
  const hint = [
    cap.tokens !== null && `${short.format(tokens)} of ${short.format(cap.tokens)} tokens`,
    inDollars && `${dollars.format(cost_usd)} of ${dollars.format(cap.cost_usd)}`,
    !capped && `${short.format(tokens)} tokens; sessions have caps`,
    unpriced_tokens > 0 && `${short.format(unpriced_tokens)} tokens of no known price`,
    spending.rung !== "full" && worded(spending.rung),
  ].filter(Boolean).join(", ");
  return html`<${Figure} name="Spent today" value=${capped ? `${Math.round(share * 100)}%` : dollars.format(cost_usd)} hint=${hint}>
    ${capped && html`<dd><${Bar} label=${`${Math.round(share * 100)}% of the cap`}
      parts=${[{ kind: share >= 1 ? "stalled" : "spent", share: Math.min(share, 1) }]} /></dd>`}<//>`;
}

// Shares of a whole, side by side.
function Bar({ label, parts }) {
  let at = 0;
  return html`<svg class="bar" viewBox=${`0 0 ${WIDTH} 14`} preserveAspectRatio="none" role="img" aria-label=${label}>
    <rect class="rest" width=${WIDTH} height="14" />
    ${parts.filter(({ share }) => share > 0).map(({ kind, share }) => {
      const x = at;
      at += share * WIDTH;
      return html`<rect class=${`is-${kind}`} x=${x} width=${Math.max(share * WIDTH - 1, 1)} height="14" />`;
    })}</svg>`;
}

function Standings({ memories, more, onStatus }) {
  const all = sum(memories, (each) => each.memories);
  if (!all) return null;
  const label = `Memories by status: ${memories.map((each) => `${each.memories} ${worded(each.status)}`).join(", ")}`;
  return html`<figure class="standings">
    <${Bar} label=${label} parts=${memories.map((each) => ({ kind: each.status, share: each.memories / all }))} />
    <figcaption>${memories.map((each) => html`<button class="plain" title="Show these sessions"
      onClick=${() => onStatus(each.status)}><i class=${`is-${each.status}`}></i>${count.format(each.memories)}${more} ${
      worded(each.status)}</button>`)}</figcaption>
  </figure>`;
}

// The waiting tokens over time, which tell whether the backlog grows.
function Curve() {
  const most = Math.max(...kept.map((look) => look.tokens), 1);
  const at = (index) => (kept.length < 2 ? WIDTH : (index * WIDTH) / (kept.length - 1));
  const points = kept.map((look, index) => `${at(index).toFixed(1)},${(58 - (54 * look.tokens) / most).toFixed(1)}`).join(" ");
  const [first, last] = [kept[0], kept.at(-1)];
  const seconds = (new Date(last.at) - new Date(first.at)) / 1000;
  const before = kept.length > 1 ? `, ${count.format(first.tokens)} ${ago(seconds)} ago` : "";
  const words = `Tokens that wait to be observed: ${count.format(last.tokens)} now${before}`;
  return html`<figure class="curve"><figcaption>${words}</figcaption>
    <svg viewBox=${`0 0 ${WIDTH} 60`} preserveAspectRatio="none" role="img" aria-label=${words}>
      <polyline points=${kept.length < 2 ? `0,${points.split(",")[1]} ${points}` : points} /></svg></figure>`;
}

function Ages({ ages }) {
  const most = Math.max(...ages.map((age) => age.pending_tokens), 1);
  const name = (age, index) => (age.below_seconds === null ? `over ${ago(ages[index - 1].below_seconds)}` : `under ${ago(age.below_seconds)}`);
  return html`<figure class="ages"><figcaption>Tokens by the age of the oldest message of their memory</figcaption>
    <ul>${ages.map((age, index) => html`<li><span>${name(age, index)}</span>
      <${Bar} label=${`${count.format(age.pending_tokens)} tokens`} parts=${[{ kind: "due", share: age.pending_tokens / most }]} />
      <span class="number">${short.format(age.pending_tokens)}</span></li>`)}</ul></figure>`;
}

function Failing({ causes, onStatus }) {
  if (!causes.length) return null;
  return html`<h2>Why memories fail</h2>
    <ul class="causes">${causes.map((cause) => html`<li key=${`${cause.step} ${cause.kind}`} class="note">
      <div class="line"><b>${cause.step}: ${worded(cause.kind)}</b>
        <span class="tag">${many(cause.memories, "memory", "memories")}</span>
        <span class="right">${many(cause.attempts, "time")} in a row · last ${when(cause.last_at)} · next ${when(cause.next_at)}</span></div>
      <p class="wrong">${cause.message}</p>
      <p class="hint">${cause.sessions.map((name) => html`<a href=${pageOf(name, "runs")}>${name}</a> `)}
        ${cause.memories > cause.sessions.length && html`and more: <button class="plain" onClick=${() => onStatus("stalled")}>stalled</button>,${" "}
          <button class="plain" onClick=${() => onStatus("backing_off")}>backing off</button>`}</p></li>`)}</ul>`;
}

const CIRCUITS = { closed: "calls pass", open: "stopped", half_open: "next call is a test" };

function Process({ process }) {
  if (!process) return html`<p class="hint">Models, the index and connections are shown with an admin key.</p>`;
  const past = (seconds) => (seconds === null ? "never" : `${ago(seconds)} ago`);
  return html`<h2>Models</h2>
    <p class="hint">As seen by process ${process.name}; ${process.connections.in_use} of its ${process.connections.max} connections
      to the database in use, ${many(process.connections.waiting, "task")} waiting for one.</p>
    <${Scroll} label="Table of models" class="models"><table aria-label="Models">
      <thead><tr><th>Role</th><th>Model</th><th>State</th><th>Answered</th><th>Last error</th></tr></thead>
      <tbody>${process.roles.map((role) => html`<tr><td>${role.role}</td>
        <td>${[role.provider, role.model].filter(Boolean).join(" ")}${role.small_model && html`<br />small: ${role.small_model}`}</td>
        <td>${role.circuit === null ? "built in" : html`<span class=${role.circuit === "closed" ? "" : "wrong"}>${CIRCUITS[role.circuit]}${
          role.next_try_seconds ? `, next try in ${ago(role.next_try_seconds)}` : ""}</span>`}</td>
        <td>${role.circuit === null ? "" : past(role.answered_seconds)}</td>
        <td>${role.last_error && html`${worded(role.last_error)}, ${past(role.last_error_seconds)}`}</td></tr>`)}</tbody>
    </table><//>`;
}

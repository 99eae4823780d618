// Shows messages beside the notes made of them, newest first, and a chart of tokens over time.

import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import uPlot from "./vendor/uplot.js";
import { all, get, session, some } from "./api.js";
import { Message, Notice, Press, Text, Unread, cited, count, isShared, short, span, useLoaded } from "./parts.js";
import { growth } from "./growth.js";

const PAGE = 60;
const CHART_MESSAGES = 2000;
const VERSIONS_MAX = 5000;
const NOTES_MAX = 2000; // of each kind, for the chart

export function Timeline({ name, memory, change, cite, onCite }) {
  const isCited = cite.from !== null && cite.to !== null;
  const [found, error] = useLoaded(
    async (signal) => {
      const path = session(name);
      const asked = pageWith(cite);
      const before = asked.before <= memory.cursor.last_seq ? asked.before : null;
      const query = { order: "desc", limit: PAGE, before_seq: before };
      const page = await get(`${path}/messages`, query, signal);
      if (!(page.items.at(-1)?.seq > asked.with)) return { messages: page.items, older: page.next_cursor !== null, cite };
      const onward = { order: "asc", limit: PAGE, after_seq: asked.with - 1 }; // large messages filled the page before the cited one
      const { items } = await get(`${path}/messages`, onward, signal);
      return { messages: items.reverse(), older: asked.with > 1, cite };
    },
    [name, change, cite],
  );
  const [notes] = useLoaded(async (signal) => {
    const lists = ["observations", "reflections"].map((kind) =>
      Promise.all(["active", "buffered"].map((status) => all(`${session(name)}/memory/${kind}`, { status }, signal))));
    const [observations, reflections] = await Promise.all(lists);
    return { observations: observations.flat(), reflections: reflections.flat() };
  }, [name, change]);
  const led = useRef(null); // the citation that was focused: updates do not bring back a reader who has moved on
  useEffect(() => {
    if (!isCited || cite === led.current || found?.cite !== cite) return;
    led.current = cite;
    document.getElementById(`message-${cite.from}`)?.focus();
  }, [cite, found]);
  if (!found) return html`<${Unread} error=${error} />`;
  const { messages, older } = found;
  if (memory.cursor.last_seq === 0) return html`<p class="hint">There is no message yet: POST /sessions/${name}/messages appends the first.</p>`;
  const newest = messages[0]?.seq ?? 0;
  const oldest = messages.at(-1)?.seq ?? 0;
  const isComing = found.cite !== cite && !error;
  return html`
    <${Growth} name=${name} memory=${memory} change=${change} />
    <div class="pager">
      <${Press} off=${newest >= memory.cursor.last_seq} onClick=${() => onCite("", "")}>Newest<//>
      <${Press} off=${newest >= memory.cursor.last_seq} onClick=${() => onCite(newest + 1, "")}>Newer<//>
      <span>#${oldest} to #${newest} of ${count.format(memory.cursor.last_seq)}</span>
      <${Press} off=${!older} onClick=${() => onCite("", oldest - 1)}>Older<//>
      <span class="hint" role="status">${isComing && "Loading"}</span>
      <${Leap} last=${memory.cursor.last_seq} onCite=${onCite} />
    </div>
    ${error && found.cite !== cite && html`<${Notice} kind="error">${error}<//>`}
    <div class="sides">
      <ol class="messages" aria-label="Messages" aria-busy=${isComing ? "true" : undefined}>${messages.map(
        (message) => html`<${Message} key=${message.seq} message=${message} marked=${isCited && message.seq >= cite.from && message.seq <= cite.to} />`,
      )}</ol>
      <${Notes} name=${name} memory=${memory} notes=${notes} oldest=${oldest} newest=${newest} onCite=${onCite} />
    </div>
  `;
}

// The page to load: it ends before message `before`, and `with` must be on it. Cited messages begin in its middle.
function pageWith({ from, to }) {
  if (from === null) return { before: to && to + 1 };
  return { before: from + (to === null ? PAGE : 1 + PAGE / 2), with: from };
}

// Goes to a message by its number: it may be many pages away, and the coverage map works by mouse only.
function Leap({ last, onCite }) {
  const leap = (event) => {
    event.preventDefault();
    const seq = Number(new FormData(event.target).get("seq"));
    onCite(seq, seq);
  };
  return html`<form class="leap" onSubmit=${leap}>
    <label for="leap">Message</label> <input id="leap" name="seq" type="number" min="1" max=${last} required /> <button>Show</button></form>`;
}

function Notes({ name, memory, notes, oldest, newest, onCite }) {
  if (!notes) return html`<div class="notes" aria-busy="true"></div>`;
  const near = (note) => note.session === name && note.from_seq <= newest && note.to_seq >= oldest;
  const shown = [
    ...notes.observations.filter(near).map((note) => ({ ...note, kind: "observation" })),
    ...notes.reflections.filter((note) => isShared(memory) || near(note)).map((note) => ({ ...note, kind: "reflection" })),
  ].sort((one, other) => other.to_seq - one.to_seq);
  return html`<ol class="notes" aria-label="Notes of these messages">
    ${shown.length === 0 && html`<li class="hint">No note covers these messages yet.</li>`}
    ${shown.map((note) => html`<li key=${`${note.kind} ${note.id}`} class=${`note ${note.kind} ${note.status}`}>
      <div class="line"><b>${note.kind} ${note.id}</b> <span class="tag">${note.status}</span>
        ${note.level && html`<span class="tag">level ${note.level}</span>`}
        <span class="right">${span(note, memory)} · ${count.format(note.tokens)} tokens</span></div>
      <${Text}>${cited(note.text, onCite, { name, memory })}<//></li>`)}
  </ol>`;
}

// Loads only what is newer than the drawing. There are many notes that have left the log, so notes are loaded once; later
// sizes of the log come with the memory.
function Growth({ name, memory, change }) {
  const drawn = useRef([]);
  const known = useRef(new Map()); // versions by their number
  const told = useRef(new Map());
  told.current.set(memory.log.version, memory.log.tokens);
  const [former, formerError] = useLoaded(async (signal) => {
    const kinds = ["observations", "reflections"].map((kind) => some(`${session(name)}/memory/${kind}`, { limit: 500 }, NOTES_MAX / 500, signal));
    const lists = await Promise.all(kinds);
    return { notes: lists.flatMap((list) => list.items), isWhole: !lists.some((list) => list.more) };
  }, [name]);
  const [found, error] = useLoaded(
    async (signal) => {
      const after = drawn.current.at(-1)?.seq;
      const query = { order: after ? "asc" : "desc", after_seq: after, limit: 500 };
      const { items: more } = await some(`${session(name)}/messages`, query, CHART_MESSAGES / 500, signal);
      const newer = await versionsSince(name, known.current, signal);
      if (signal.aborted) return null; // the next load includes these
      for (const version of newer) known.current.set(version.version, version);
      const came = (after ? more : more.reverse()).map(({ seq, tokens }) => ({ seq, tokens }));
      drawn.current = [...drawn.current, ...came].slice(-CHART_MESSAGES);
      return { messages: drawn.current, versions: [...known.current.values()] };
    },
    [name, change],
  );
  const series = useMemo(
    () => (found && former ? growth({ ...found, ...former, told: told.current }) : null),
    [found, former, memory.log.version],
  );
  const isComing = !series && !error && !formerError && memory.cursor.last_seq > 1;
  if (isComing) return html`<figure class="chart" aria-busy="true"></figure>`; // keeps the chart's place free, so that the text below does not jump
  if (!series || series.seqs.length < 2) return null;
  return html`<figure class="chart"><figcaption>Tokens after each message. Raw: all messages${
    series.seqs[0] > 1 ? ` from #${series.seqs[0]} on` : ""}; log: the notes; context: the notes and the messages beside them, before a budget cuts them</figcaption>
    <${Chart} series=${series} /></figure>`;
}

// The versions that are not known yet, up to the newest VERSIONS_MAX.
async function versionsSince(name, known, signal) {
  const found = [];
  let cursor = null;
  do {
    const page = await get(`${session(name)}/memory/versions`, { limit: known.size ? 50 : 500, cursor }, signal);
    const newer = page.items.filter(({ version }) => !known.has(version));
    found.push(...newer);
    cursor = newer.length === page.items.length ? page.next_cursor : null;
  } while (cursor && found.length < VERSIONS_MAX);
  return found;
}

const WHOLE = Array.from({ length: 24 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3)); // 1, 2, 5, 10, 20, ...
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function Chart({ series }) {
  const place = useRef();
  useEffect(() => {
    const line = (label, name, fill) => ({ label, stroke: colour(name), width: 2, fill, points: { show: false } });
    const axis = { stroke: colour("--ink-soft"), grid: { stroke: colour("--rule") }, ticks: { stroke: colour("--rule") } };
    const options = {
      width: place.current.clientWidth,
      height: 190,
      scales: { x: { time: false } },
      legend: { live: true },
      axes: [{ ...axis, incrs: WHOLE }, { ...axis, values: (_, ticks) => ticks.map((tick) => short.format(tick)) }],
      series: [{ label: "#" }, line("raw", "--raw"), line("log", "--log"), line("context", "--context")],
    };
    const chart = new uPlot(options, [series.seqs, series.raw, series.log, series.context], place.current);
    const resized = new ResizeObserver(() => chart.setSize({ width: place.current.clientWidth, height: 190 }));
    resized.observe(place.current);
    return () => (resized.disconnect(), chart.destroy());
  }, [series]);
  return html`<div ref=${place}></div>`;
}

// Draws the coverage map: which note stands for which messages.

import { html } from "./html.js";

const WORDS = {
  reflection: "reflections",
  observation: "observations",
  buffered: "observed ahead",
  summary: "summaries",
  skip: "not remembered",
  deleted: "deleted",
  erased: "erased",
  rebuilding: "rebuilding",
  tail: "not yet observed",
};
const WIDTH = 1000;
const DRAWN_MAX = 400;

const kindOf = (by) => by.split(":")[0];

// The intervals to draw: of more than DRAWN_MAX, neighbours of the same kind are merged, as they could not be told apart.
function drawn(intervals) {
  if (intervals.length <= DRAWN_MAX) return intervals;
  const merged = [];
  for (const interval of intervals) {
    const last = merged.at(-1);
    if (last && kindOf(last.by) === kindOf(interval.by)) last.to = interval.to;
    else merged.push({ ...interval, by: kindOf(interval.by) });
  }
  return merged;
}

export function CoverageMap({ memory, onShow }) {
  const { intervals } = memory.coverage;
  const last = memory.cursor.last_seq;
  if (!last) return null;
  const at = (seq) => (WIDTH * (seq - 1)) / last;
  const kinds = [...new Set(intervals.map((interval) => kindOf(interval.by)))];
  const label = intervals.slice(0, 20).map((i) => `${i.from} to ${i.to}: ${i.by}`).join("; ");
  return html`<figure class="coverage">
    <svg viewBox=${`0 0 ${WIDTH} 34`} preserveAspectRatio="none" role="img" aria-label=${`Coverage of messages 1 to ${last}. ${label}`}>
      ${drawn(intervals).map((interval) => html`<rect class=${`by-${kindOf(interval.by)}`} x=${at(interval.from)} y="0"
        width=${Math.max(at(interval.to + 1) - at(interval.from) - 0.8, 0.6)} height="26"
        onClick=${() => onShow(interval.from, interval.to)}><title>#${interval.from}-${interval.to}: ${interval.by}</title></rect>`)}
      <rect class="tail-mark" x=${at(memory.cursor.tail_from_seq)} y="29" width=${Math.max(at(last + 1) - at(memory.cursor.tail_from_seq), 1)}
        height="5"><title>shown as messages: #${memory.cursor.tail_from_seq}-${last}</title></rect>
    </svg>
    <figcaption>
      ${kinds.map((kind) => html`<span><i class=${`by-${kind}`}></i>${WORDS[kind] ?? kind}</span>`)}
      <span><i class="tail-mark"></i>shown as messages</span>
    </figcaption>
  </figure>`;
}

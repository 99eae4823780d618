// The sources of a fact or a hit, as links to the messages.

import { html } from "./html.js";
import { inTimeline, numbers, pageOf } from "./parts.js";

// Consecutive numbers become one range.
function ranges(seqs) {
  const found = [];
  for (const seq of [...seqs].sort((one, other) => one - other)) {
    if (found.at(-1)?.to === seq - 1) found.at(-1).to = seq;
    else found.push({ from: seq, to: seq });
  }
  return found;
}

// Messages `cites` of the session `of`, else its `from_seq` to `to_seq`; `name` is the session that is shown.
export function Source({ of, cites, from_seq, to_seq, name, onCite }) {
  const found = cites.length ? ranges(cites) : [{ from: from_seq, to: to_seq }];
  return html`<span class="source">${of === name ? of : html`<a href=${pageOf(of)}>${of}</a>`} ${
    found.map((range) => of === name
      ? html`<button class="cite" title="Show in the timeline" onClick=${() => onCite(range.from, range.to)}>${numbers(range)}</button>${" "}`
      : html`<a class="cite" title=${`Show in ${of}`} href=${inTimeline(of, range.from, range.to)}>${numbers(range)}</a>${" "}`)}</span>`;
}

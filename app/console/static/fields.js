// Form fields: options, and conversion of times and message numbers to field values and back.

import { html } from "./html.js";

export const Options = ({ of, chosen, label = (value) => value }) =>
  of.map((value) => html`<option value=${value} selected=${value === chosen}>${label(value)}</option>`);

// A time as a field shows it: in the reader's time zone, to the minute.
export function toField(text) {
  if (!text) return "";
  const at = new Date(text);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export const fromField = (value) => (value ? new Date(value).toISOString() : null);

export const TimeField = ({ label, ...field }) => html`<label>${label}
  <input type="datetime-local" max="9999-12-31T23:59" ...${field} /></label>`;

const SEQS_MAX = 1000; // above the service's limit; keeps a typing error from making a huge list

export const SEQS = String.raw`\s*#?\d+(-\d+)?(\s*,\s*#?\d+(-\d+)?)*\s*`; // a pattern of `3, 5-7`

// The numbers of `3, 5-7`.
export function seqsOf(text) {
  return [...text.matchAll(/(\d+)(?:-(\d+))?/g)].flatMap(([, first, last]) => {
    const [from, to] = [Number(first), Number(last ?? first)].sort((one, other) => one - other);
    return Array.from({ length: Math.min(to - from + 1, SEQS_MAX) }, (_, at) => from + at);
  });
}

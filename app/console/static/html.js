// Elements as templates, without htm's cache of static ones: Preact links from a cached element to the tree in which it
// was first drawn, and from that to all later trees, so that each message would leak memory. `this[0]` turns the cache
// off.

import htm from "./vendor/htm.js";
import { h } from "./vendor/htm-preact.js";

export { render, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact.js";

export const html = htm.bind(function drawn(...given) {
  this[0] = 3;
  return h(...given);
});

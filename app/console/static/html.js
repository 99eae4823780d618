// Elements written as templates. htm gives what is static in one again each time, and Preact hangs the tree on it in which
// it was first drawn, from which all later ones are reached: each message that came took memory for good. So nothing is
// kept (`this[0]` is what htm reads for that).

import htm from "./vendor/htm.js";
import { h } from "./vendor/htm-preact.js";

export { render, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact.js";

export const html = htm.bind(function drawn(...given) {
  this[0] = 3;
  return h(...given);
});

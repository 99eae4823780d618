// Finds what in the overview needs an operator's attention, the worst first, each in one sentence. Pure.

import { ago, many, worded } from "./parts.js";

const LATE_SECONDS = 60; // due work begins within the sweep's few seconds if workers are free
const memories = (number) => many(number, "memory", "memories");

// Roles by the circuit that is open: several stand behind that of their provider.
function stopped(roles) {
  const found = new Map();
  for (const { role, provider, circuit, failures, last_error } of roles) {
    if (circuit === null || circuit === "closed") continue;
    const about = `${provider} are stopped after ${many(failures, "failure")} in a row (the last: ${worded(last_error)})`;
    found.set(about, [...(found.get(about) ?? []), role]);
  }
  return found;
}

export function wanting({ told, ready }) {
  const items = [];
  const wrong = (text) => items.push({ kind: "error", text });
  const note = (text) => items.push({ kind: "info", text });
  if (ready.error) wrong(`The service is not ready: ${ready.error}.`);
  if (!told) return items;
  const of = (status) => told.queue.memories.find((each) => each.status === status);
  const stalled = of("stalled");
  if (stalled) wrong(`${memories(stalled.memories)} stalled: tried every 10 minutes until the cause is mended. Contexts still have the notes there are, and the messages.`);
  for (const [about, roles] of stopped(told.process?.roles ?? [])) wrong(`Calls of ${roles.join(", ")} to ${about}.`);
  if (told.queue.late_seconds > LATE_SECONDS)
    wrong(`Work has been due for ${ago(told.queue.late_seconds)} and is not begun: no worker is there, or all are busy.`);
  const pool = told.process?.connections;
  if (pool?.waiting && pool.in_use >= pool.max) // else it is being taken
    wrong(`All ${pool.max} connections to the database are in use, and ${pool.waiting} wait for one.`);
  const failing = of("backing_off");
  if (failing) note(`${memories(failing.memories)} failed and will be tried again soon.`);
  const paused = of("paused");
  if (paused) note(`${memories(paused.memories)} paused until a cap on cost allows more, at the latest on the next UTC day.`);
  if (told.spending && told.spending.rung !== "full" && !paused)
    note(`The cap on cost of today is near: ${worded(told.spending.rung)}.`);
  if (!told.queue.complete) note("More wait than were looked at: the numbers with a + are the least there are.");
  return items;
}

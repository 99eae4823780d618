// Finds what in the overview needs an operator's attention, worst first, each with what to do. Pure.

import { ago, many, worded } from "./parts.js";

const LATE_SECONDS = 60; // due work starts within a few seconds if a worker is free
const memories = (number) => many(number, "memory", "memories");

// Roles by their provider's open circuit, which several may share.
function stopped(roles) {
  const found = new Map();
  for (const { role, provider, circuit, failures, last_error } of roles) {
    if (circuit === null || circuit === "closed") continue;
    const about = `${provider} are stopped after ${many(failures, "failure")} in a row (the last: ${worded(last_error)})`;
    found.set(about, [...(found.get(about) ?? []), role]);
  }
  return found;
}

export function attention({ told, ready }) {
  const items = [];
  const wrong = (text) => items.push({ kind: "error", text });
  const note = (text) => items.push({ kind: "info", text });
  if (ready.error) wrong(`The service is not ready: ${ready.error}.`);
  if (!told) return items;
  const of = (status) => told.queue.memories.find((each) => each.status === status);
  const stalled = of("stalled");
  if (stalled) wrong(`${memories(stalled.memories)} stalled, and tried every 10 minutes. Fix the cause shown below, then press Redrive on a session's page, or run daybook doctor --redrive. Contexts still show the existing notes and the messages.`);
  for (const [about, roles] of stopped(told.process?.roles ?? [])) wrong(`Calls of ${roles.join(", ")} to ${about}.`);
  if (told.queue.late_seconds > LATE_SECONDS)
    wrong(`Work has been due for ${ago(told.queue.late_seconds)} and has not started: no worker runs, or all are busy.`);
  const pool = told.process?.connections;
  if (pool?.waiting && pool.in_use >= pool.max) // otherwise a free one is just being taken
    wrong(`All ${pool.max} connections to the database are in use, and ${many(pool.waiting, "task")} waiting: see DAYBOOK_POOL__MAX.`);
  const failing = of("backing_off");
  if (failing) note(`${memories(failing.memories)} failed and will be tried again soon.`);
  const paused = of("paused");
  if (paused) note(`${memories(paused.memories)} paused by a spending cap, at the latest until the next UTC day.`);
  if (told.spending && told.spending.rung !== "full" && !paused)
    note(`Today's spending cap is near: ${worded(told.spending.rung)}.`);
  if (!told.queue.complete) note("Not all waiting memories were counted: a number with a + is a lower bound.");
  return items;
}

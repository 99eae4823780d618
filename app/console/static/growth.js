// Computes the tokens of messages and notes by message, for the chart. Pure.

// The version that was the newest when message `seq` was the last: versions are oldest first.
function versionAt(versions, seq) {
  let found = null;
  for (const version of versions) {
    if (version.last_seq > seq) break;
    found = version;
  }
  return found;
}

// Tokens of the log at each of the `versions`, oldest first. `told` has them for the versions seen while the page was
// open. Before the first of these they are summed from the notes, if all notes were read (`isWhole`); any other version
// has the tokens of the version before it.
function logTokens(versions, { notes, isWhole, told }) {
  const change = new Map(); // by the version that made it
  const add = (version, tokens) => change.set(version, (change.get(version) ?? 0) + tokens);
  for (const note of notes.filter((each) => each.born_version !== null)) {
    add(note.born_version, note.tokens);
    if (note.retired_version !== null) add(note.retired_version, -note.tokens);
  }
  const born = [...change.keys()].sort((one, other) => one - other);
  const since = Math.min(...told.keys());
  const sizes = new Map();
  let [sum, at, last] = [0, 0, null];
  for (const { version } of versions) {
    while (at < born.length && born[at] <= version) sum += change.get(born[at++]);
    if (told.has(version)) last = told.get(version);
    else if (isWhole && version < since) last = sum;
    sizes.set(version, last);
  }
  return sizes;
}

export function growth({ messages, versions, notes, isWhole, told }) {
  const ordered = [...versions].sort((one, other) => one.version - other.version);
  const sizes = logTokens(ordered, { notes, isWhole, told });
  const before = new Map(); // tokens before each seq
  let sum = 0;
  const result = { seqs: [], raw: [], log: [], context: [] };
  for (const message of messages) {
    before.set(message.seq, sum);
    sum += message.tokens;
    const version = versionAt(ordered, message.seq);
    const log = version ? sizes.get(version.version) : 0; // null: not known
    const tailFrom = Math.max(version?.tail_from_seq ?? 1, messages[0].seq);
    result.seqs.push(message.seq);
    result.raw.push(sum);
    result.log.push(log);
    result.context.push(log === null ? null : log + sum - (before.get(tailFrom) ?? sum));
  }
  return result;
}

// Tokens by message, from what the lists tell. Pure.

// The version that was the newest when message `seq` was the last: versions are oldest first.
function versionAt(versions, seq) {
  let found = null;
  for (const version of versions) {
    if (version.last_seq > seq) break;
    found = version;
  }
  return found;
}

export function growth({ messages, versions, observations, reflections }) {
  const ordered = [...versions].sort((one, other) => one.version - other.version);
  const logTokens = new Map();
  const logAt = (version) => {
    if (!logTokens.has(version)) {
      const live = [...observations, ...reflections].filter(
        (note) => note.born_version !== null && note.born_version <= version && (note.retired_version === null || note.retired_version > version),
      );
      logTokens.set(version, live.reduce((sum, note) => sum + note.tokens, 0));
    }
    return logTokens.get(version);
  };
  const before = new Map(); // tokens before each seq
  let sum = 0;
  const result = { seqs: [], raw: [], log: [], context: [] };
  for (const message of messages) {
    before.set(message.seq, sum);
    sum += message.tokens;
    const version = versionAt(ordered, message.seq);
    const log = version ? logAt(version.version) : 0;
    const tailFrom = Math.max(version?.tail_from_seq ?? 1, messages[0].seq);
    result.seqs.push(message.seq);
    result.raw.push(sum);
    result.log.push(log);
    result.context.push(log + sum - (before.get(tailFrom) ?? sum));
  }
  return result;
}

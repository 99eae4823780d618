#!/bin/sh
# One turn of a conversation with curl: append it, get what the next call of a model should see, look at the memory.
set -eu
url=${MEMORY_URL:-http://127.0.0.1:8000}/sessions/${SESSION:-curl}

ask() {
  curl --silent --show-error --fail-with-body -H 'Content-Type: application/json' \
    -H "Authorization: Bearer ${MEMORY_KEY:-none}" "$@"
  echo
}

# Each message has an id, so that this script may be run again: what is stored is stored once.
ask "$url/messages" -d '{"resource_id": "ana", "messages": [
  {"id": "t1-user", "role": "user", "content": "Book me a table for two in Porto on 14 May, no shellfish please."},
  {"id": "t1-call", "role": "assistant", "content": [
    {"type": "tool_call", "id": "c1", "name": "book", "arguments": {"city": "Porto", "people": 2, "date": "2027-05-14"}}]},
  {"id": "t1-result", "role": "tool", "content": [
    {"type": "tool_result", "tool_call_id": "c1", "output": {"booked": true, "reference": "PRT-5521"}}]},
  {"id": "t1-assistant", "role": "assistant", "content": "Booked for two on 14 May, reference PRT-5521."}]}'

# The memory observes by itself once enough was said; here it is told to.
ask -X POST "$url/memory/observe?wait_ms=10000" >/dev/null

ask "$url/context?format=text" -d '{"system": "You are a travel assistant.",
  "incoming": [{"role": "user", "content": "Which reference did I get?"}]}'

ask "$url/memory"

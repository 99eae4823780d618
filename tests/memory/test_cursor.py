"""Where the tail begins once messages are observed, over HTTP (memory-rules.md section 6, the message tail)."""

import pytest

from tests.conftest import Service
from tests.sessions.test_routes import said

FACT = "I paid the invoice of {n}20 euros for Ana in Porto on May {n}, and we decided to keep the shop."
CALL = {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}]}
RESULT = {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "output": "found"}]}


@pytest.mark.parametrize(
    ("keep_last", "tail_from_seq"), [(0, 8), (1, 8), (2, 7), (3, 5), (4, 5), (5, 4), (8, 1), (12, 1)]
)
async def test_the_last_messages_stay_with_the_calls_of_their_results_and_one_in_any_case(
    service: Service, keep_last: int, tail_from_seq: int
) -> None:
    await service.configure("s1", keep_last=keep_last, keep_last_tool_results=0)
    facts = [said(FACT.format(n=n)) for n in range(1, 7)]
    await service.append("s1", *facts[:4], CALL, RESULT, *facts[4:])
    await service.observe("s1")
    cursor = (await service.memory("s1"))["cursor"]
    assert (cursor["observed_seq"], cursor["tail_from_seq"]) == (8, tail_from_seq)

"""What an agent's SDK gives it goes in as it is, and comes out for the same provider as it went in."""

from collections.abc import Sequence
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from app.context.compile import compile_context
from app.context.model import Format
from app.kit.json import dumps, loads
from app.sessions.counting import message_tokens
from app.sessions.model import Message
from app.sessions.wire import normalise
from tests.context.building import START, ask, snapshot, text
from tests.context.rendering.capture import Capture
from tests.context.rendering.streams import RESPONSE
from tests.context.shapes import CHECKS, flat

QUESTION = {"role": "user", "content": [{"type": "text", "text": "Where is it warmer?"}]}


def stored(raw: Sequence[Any]) -> tuple[Message, ...]:
    """The wire messages as they are stored, by way of JSON."""
    read = [normalise(loads(dumps(each))) for each in raw]
    return tuple(
        Message(
            seq=seq,
            id=f"m-{seq}",
            kind=each.kind,
            role=each.role,
            parts=each.parts,
            tokens=message_tokens(each.parts),
            created_at=START,
            name=each.name,
        )
        for seq, each in enumerate(read, start=1)
    )


def given_back(shape: Format, *raw: Any) -> list[Any]:
    payload = compile_context(snapshot(stored(raw)), ask(shape, breakpoints=False)).payload
    CHECKS[shape](payload)
    return list(payload.get("messages") or payload.get("input") or payload["contents"])


def without_marks(messages: list[Any]) -> list[Any]:
    return [flat({"messages": [message]}, Format.NEUTRAL) for message in messages]


def test_anthropic_s_final_message_comes_back_as_it_was(provider: Capture) -> None:
    with (
        anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=10, messages=[QUESTION]) as stream,  # type: ignore[list-item]  # plain JSON
    ):
        final = stream.get_final_message().model_dump(mode="json")
    results = [
        {"type": "tool_result", "tool_use_id": f"c{n}", "content": [{"type": "text", "text": "20"}]} for n in (1, 2)
    ]
    back = given_back(Format.ANTHROPIC, QUESTION, final, {"role": "user", "content": results})
    said = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "Lisbon"}},
            {"type": "tool_use", "id": "c2", "name": "search", "input": {"q": "Porto"}},
        ],
    }
    assert without_marks(back) == without_marks([QUESTION, said, {"role": "user", "content": results}])


def test_openai_s_final_completion_comes_back_as_it_was(provider: Capture) -> None:
    with (
        openai.OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0) as client,
        client.chat.completions.stream(model="m", messages=[QUESTION]) as stream,  # type: ignore[list-item]  # plain JSON
    ):
        final = stream.get_final_completion().choices[0].message.model_dump(mode="json")
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": [{"type": "text", "text": "20"}]} for n in (1, 2)]
    back = given_back(Format.OPENAI, QUESTION, final, *results)
    said = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Let me look."}],
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":"Lisbon"}'}},
            {"id": "c2", "type": "function", "function": {"name": "search", "arguments": '{"q": "Porto"}'}},
        ],
    }
    assert without_marks(back) == without_marks([QUESTION, said, *results])


def test_the_items_of_a_final_response_come_back_as_they_were(provider: Capture) -> None:
    question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is it warmer?"}]}
    with (
        openai.OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0) as client,
        client.responses.stream(model="m", input=[question]) as stream,  # type: ignore[list-item]  # plain JSON
    ):
        final = stream.get_final_response().model_dump(mode="json")
    results = [{"type": "function_call_output", "call_id": f"c{n}", "output": "20"} for n in (1, 2)]
    back = given_back(Format.OPENAI_RESPONSES, question, *final["output"], *results)
    assert without_marks(back) == without_marks([question, *RESPONSE["output"], *results])


def test_the_parts_of_gemini_s_chunks_come_back_as_they_were(provider: Capture) -> None:
    options = types.HttpOptions(base_url=provider.url, retry_options=types.HttpRetryOptions(attempts=1))
    with genai.Client(api_key="k", http_options=options) as client:
        chunks = list(client.models.generate_content_stream(model="m", contents="Where is it warmer?"))
    dumped = [chunk.model_dump(mode="json")["candidates"][0]["content"] for chunk in chunks]
    question = {"role": "user", "parts": [{"text": "Where is it warmer?"}]}
    responses = [{"function_response": {"name": "search", "response": {"celsius": n}}} for n in (20, 18)]
    answer = {"role": "user", "parts": responses}
    said = {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": "Let me look."},
            {"function_call": {"name": "search", "args": {"q": "Lisbon"}}, "thought_signature": "c2ln"},
            {"function_call": {"name": "search", "args": {"q": "Porto"}}},
            {"text": "", "thought_signature": "c2lnMg=="},
        ],
    }
    joined = {"role": "model", "parts": [part for content in dumped for part in content["parts"]]}
    assert given_back(Format.GEMINI, question, joined, answer) == [question, said, answer]


@pytest.mark.parametrize("shape", list(CHECKS))
def test_the_bytes_that_gemini_s_sdk_dumps_are_told_to_each_provider_in_its_base64(shape: Format) -> None:
    image = types.Part.from_bytes(data=bytes(range(240, 256)), mime_type="image/png")
    said = types.Content(role="user", parts=[image]).model_dump(mode="json")
    assert "_" in said["parts"][0]["inline_data"]["data"]
    assert "8PHy8/T19vf4+fr7/P3+/w==" in str(given_back(shape, said))


@pytest.mark.parametrize("shape", list(CHECKS))
@pytest.mark.parametrize("data", ["8PHy\n8w==\n", "8PHy8w", " 8PHy8w= ="])
def test_bytes_in_lines_or_without_padding_are_told_in_the_base64_that_all_take(data: str, shape: Format) -> None:
    image = {"type": "image", "data": data, "media_type": "image/png"}
    assert "8PHy8w==" in str(given_back(shape, {"role": "user", "content": [image]}))


@pytest.mark.parametrize("shape", list(CHECKS))
@pytest.mark.parametrize("data", ["not of bytes!", "aGk=aGk=", "aGkaa", "===="])
@pytest.mark.parametrize("kind", [{"type": "image", "media_type": "image/png"}, {"type": "file", "name": "a.pdf"}])
def test_what_is_no_base64_is_named_in_its_place(kind: dict[str, str], data: str, shape: Format) -> None:
    told = str(given_back(shape, {"role": "user", "content": [{**kind, "data": data}]}))
    assert f"[{kind['type']}: " in told
    assert data not in told


@pytest.mark.timeout(60)
@pytest.mark.parametrize("shape", list(CHECKS))
def test_an_inline_address_without_its_bytes_takes_no_longer_than_others(shape: Format) -> None:
    image = {"type": "image", "url": "data:" + ":" * 500_000}  # divided among two stars: 100,000 took 3 s
    assert given_back(shape, {"role": "user", "content": [image]})


def test_what_anthropic_s_user_shows_comes_back_as_it_was() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "aGk="}
    stated = {"type": "content", "content": [{"type": "text", "text": "Terms."}]}
    content = [
        {"type": "document", "source": pdf, "title": "A", "context": "A lease.", "citations": {"enabled": True}},
        {"type": "document", "source": stated, "title": "Terms"},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_2"}},
        {
            "type": "search_result",
            "source": "https://example.com",
            "title": "Weather",
            "content": [{"type": "text", "text": "20"}],
            "citations": {"enabled": True},
        },
        {"type": "container_upload", "file_id": "file_3"},
    ]
    said = {"role": "user", "content": content}
    assert without_marks(given_back(Format.ANTHROPIC, said)) == without_marks([said])


def test_what_openai_s_user_shows_and_its_custom_tools_come_back_as_they_were() -> None:
    content = [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]
    called = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    said = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "content": [{"type": "text", "text": "a.txt"}], "tool_call_id": "c1"},
    ]
    assert without_marks(given_back(Format.OPENAI, *said)) == without_marks(said)


# Tools that the provider runs itself


def test_anthropic_s_server_tools_come_back_as_they_were() -> None:
    found = {
        "type": "web_search_result",
        "url": "https://example.com",
        "title": "Weather",
        "encrypted_content": "gAAA",
        "page_age": None,
    }
    said = {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Lisbon"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]},
            {"type": "text", "text": "It is warmer in Lisbon."},
        ],
    }
    back = given_back(Format.ANTHROPIC, QUESTION, said, QUESTION)
    assert without_marks(back) == without_marks([QUESTION, said, QUESTION])


FOUND = [{"type": "web_search_result", "url": "https://example.com", "title": "A", "encrypted_content": "gA" * 9_000}]
SEARCHED: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Lisbon"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND},
        {"type": "text", "text": "It is warmer in Lisbon."},
    ],
}
ITEM: dict[str, Any] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Well?"}]}
FILES = {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["x"], "results": FOUND}


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (Format.ANTHROPIC, [QUESTION, SEARCHED, QUESTION]),
        (Format.OPENAI_RESPONSES, [ITEM, FILES, ITEM]),
    ],
)
def test_what_is_left_of_a_large_answer_of_a_providers_tool_is_shown_like_that_of_the_agent_s_own(
    shape: Format, said: list[Any]
) -> None:
    observed = snapshot(stored(said), activated_seq=3, observed_seq=3)
    alone = snapshot(stored(said[:2]), rules={"message_budget": 200})
    for taken in (observed, alone):
        payload = compile_context(taken, ask(shape)).payload
        CHECKS[shape](payload)
        told = str(payload)
        assert "artifact://s1/message:2:" in told
        assert all(kind not in told for kind in ("server_tool_use", "file_search_call"))


USE: dict[str, Any] = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "Lisbon"},
}
OWN: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "book", "input": {}}
BOOKED = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("ok")]}]}
FOUND_NOTHING = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def said_by(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


@pytest.mark.parametrize(
    "said",
    [
        [QUESTION, said_by(text("Let me look."), USE)],  # a turn that was paused
        [QUESTION, said_by(USE, OWN)],
        [QUESTION, said_by(USE, OWN), BOOKED],
        [QUESTION, said_by(USE, OWN), BOOKED, said_by(FOUND_NOTHING, text("Booked."))],
        [QUESTION, said_by(USE, OWN), BOOKED, said_by(OWN | {"id": "toolu_2"})],
    ],
)
def test_a_use_that_anthropic_goes_on_with_comes_back_as_it_was(said: list[Any]) -> None:
    assert without_marks(given_back(Format.ANTHROPIC, *said)) == without_marks(said)


def test_a_call_by_code_that_anthropic_runs_names_its_caller() -> None:
    code = {**USE, "name": "code_execution", "input": {"code": "book()"}}
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    said = [QUESTION, said_by(code, OWN | {"caller": caller}), BOOKED]
    assert without_marks(given_back(Format.ANTHROPIC, *said)) == without_marks(said)
    alone = given_back(Format.ANTHROPIC, QUESTION, said_by(OWN | {"caller": caller}), BOOKED)
    assert "caller" not in str(alone)


def test_a_use_of_no_kind_is_a_call_of_the_agent_s() -> None:
    odd = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {}, "provider": "anthropic", "native": ["x"]}
    assert given_back(Format.ANTHROPIC, QUESTION, said_by(odd))[1]["content"][0]["type"] == "tool_use"


def test_the_rest_of_a_paused_turn_follows_it() -> None:
    back = given_back(Format.ANTHROPIC, QUESTION, said_by(USE), said_by(FOUND_NOTHING, text("Nothing.")))
    assert without_marks(back) == without_marks([QUESTION, said_by(USE, FOUND_NOTHING, text("Nothing."))])


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        (USE, "web_search_tool_result"),
        (USE | {"name": "tool_search_tool_bm25"}, "tool_search_tool_result"),
        (USE | {"type": "mcp_tool_use", "server_name": "wiki"}, "mcp_tool_result"),
    ],
)
def test_a_use_whose_result_comes_no_more_has_failed(use: dict[str, Any], kind: str) -> None:
    for rest in ([QUESTION], [said_by(text("Well.")), QUESTION]):
        said, *_ = given_back(Format.ANTHROPIC, QUESTION, said_by(use), *rest)[1:]
        assert [block["type"] for block in said["content"][:2]] == [use["type"], kind]
    answered = given_back(Format.ANTHROPIC, QUESTION, said_by(use, OWN), BOOKED, QUESTION)
    assert [message["role"] for message in answered] == ["user", "assistant"] * 2 + ["user"]
    assert answered[3]["content"][0]["type"] == kind


def test_a_use_fails_behind_the_results_of_the_agent_s_calls_beside_it() -> None:
    said = [QUESTION, said_by(USE, OWN, OWN | {"id": "toolu_2"}), BOOKED, said_by(text("Well.")), QUESTION]
    back = given_back(Format.ANTHROPIC, *said)
    assert [len(message["content"]) for message in back] == [1, 3, 2, 2, 1]


AGAIN = OWN | {"id": "toolu_2"}
BOOKED_AGAIN = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "Booked."}]}


@pytest.mark.parametrize(
    ("said", "waits"),
    [
        ([said_by(USE, OWN), BOOKED], True),
        ([said_by(USE, OWN), BOOKED, said_by(AGAIN), BOOKED_AGAIN], True),
        ([said_by(USE, OWN), BOOKED, said_by(text("Well."), AGAIN), BOOKED_AGAIN], False),
        ([said_by(USE, FOUND_NOTHING, OWN), BOOKED], False),
        ([said_by(USE), QUESTION], False),
    ],
)
def test_nothing_volatile_stands_behind_results_that_a_tool_of_anthropics_waits_for(
    said: list[Any], *, waits: bool
) -> None:
    taken = snapshot(stored([QUESTION, *said]))
    for shape, is_shown in ((Format.ANTHROPIC, not waits), (Format.OPENAI, True)):
        compiled = compile_context(taken, ask(shape, channel="sms"))
        CHECKS[shape](compiled.payload)
        assert ("Channel: sms" in str(compiled.payload)) is is_shown
        assert bool(compiled.tokens["volatile"]) is is_shown


def test_the_tools_that_gemini_runs_come_back_as_they_were() -> None:
    question = {"role": "user", "parts": [{"text": "Who won?"}]}
    of = {"id": "t1", "tool_type": "GOOGLE_SEARCH_WEB"}
    said = {
        "role": "model",
        "parts": [
            {"tool_call": {**of, "args": {"queries": ["x"]}}, "thought_signature": "c2ln"},
            {"tool_response": {**of, "response": {"found": 1}}},
            {"text": "They did."},
        ],
    }
    turns = [question, said, question]
    assert given_back(Format.GEMINI, *turns) == turns


def test_gemini_s_code_comes_back_as_it_was() -> None:
    question = {"role": "user", "parts": [{"text": "What is 6 times 7?"}]}
    said = {
        "role": "model",
        "parts": [
            {"executable_code": {"language": "PYTHON", "code": "6 * 7"}, "thought_signature": "c2ln"},
            {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "42"}},
            {"text": "42."},
        ],
    }
    turns = [question, said, question, said, question]
    assert given_back(Format.GEMINI, *turns) == turns


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {
            "type": "file_search_call",
            "id": "fs_1",
            "status": "completed",
            "queries": ["x"],
            "results": [{"text": "y"}],
        },
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "container_id": "cntr_1",
            "code": "6 * 7",
            "outputs": None,
        },
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "container_id": "cntr_1",
            "code": "6 * 7",
            "outputs": [{"type": "logs", "logs": "42"}],
        },
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBO"},
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "roll",
            "arguments": '{"sides": 6}',
            "server_label": "dice",
            "output": "4",
        },
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "roll",
            "arguments": "{}",
            "server_label": "dice",
            "error": {"type": "mcp_protocol_error", "code": 5, "message": "no dice"},
        },
        {
            "type": "mcp_list_tools",
            "id": "mcpl_1",
            "server_label": "dice",
            "tools": [{"name": "roll", "input_schema": {"type": "object"}, "description": "Rolls."}],
        },
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "dice", "tools": [], "error": "no dice"},
    ],
)
def test_the_items_of_openai_s_own_tools_come_back_as_they_were(item: dict[str, Any]) -> None:
    question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look it up."}]}
    back = given_back(Format.OPENAI_RESPONSES, question, item, question)
    assert without_marks(back) == without_marks([question, item, question])


@pytest.mark.parametrize(
    ("came", "goes"),
    [
        pytest.param(
            {"type": "mcp_call", "name": "roll", "arguments": "{}", "output": "4", "error": None},
            {"type": "mcp_call", "name": "roll", "arguments": "{}", "output": "4"},
            id="a call that did not fail",
        ),
        pytest.param(
            {"type": "mcp_list_tools", "tools": [{"name": "roll", "input_schema": {}}], "error": None},
            {"type": "mcp_list_tools", "tools": [{"name": "roll", "input_schema": {}}]},
            id="tools that could be listed",
        ),
        pytest.param(
            {"type": "mcp_list_tools", "tools": [{"name": "roll", "input_schema": {}}], "error": "no dice"},
            {"type": "mcp_list_tools", "tools": [{"name": "roll", "input_schema": {}}], "error": "no dice"},
            id="tools of which some could",
        ),
        pytest.param(
            {"type": "mcp_call", "name": "roll", "arguments": "{}", "output": None, "error": "no dice"},
            {"type": "mcp_call", "name": "roll", "arguments": "{}", "output": "no dice"},
            id="an error in words",
        ),
    ],
)
def test_what_mcp_answered_comes_back_whatever_is_said_of_an_error(came: dict[str, Any], goes: dict[str, Any]) -> None:
    """The API, and a dump of the SDK's, say null of what is not there."""
    question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look it up."}]}
    named = {"id": "mcp_1", "server_label": "dice"}
    back = given_back(Format.OPENAI_RESPONSES, question, {**came, **named}, question)
    assert without_marks(back) == without_marks([question, {**goes, **named}, question])


ASKED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List it."}]}


@pytest.mark.parametrize(
    "items",
    [
        [
            {
                "type": "shell_call",
                "id": "sh_1",
                "status": "completed",
                "call_id": "c1",
                "action": {"commands": ["ls"]},
            },
            {
                "type": "shell_call_output",
                "call_id": "c1",
                "max_output_length": 100,
                "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
            },
        ],
        [
            {
                "type": "apply_patch_call",
                "id": "apc_1",
                "status": "completed",
                "call_id": "c1",
                "operation": {"type": "delete_file", "path": "a"},
            },
            {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no such file"},
        ],
        [{"type": "compaction", "encrypted_content": "gAAA"}],
        [
            {
                "type": "mcp_approval_request",
                "id": "mcpr_1",
                "server_label": "dice",
                "name": "roll",
                "arguments": '{"sides": 6}',
            },
            {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False, "reason": "Not now."},
        ],
    ],
)
def test_openai_s_tools_that_the_agent_runs_and_what_it_compacted_come_back_as_they_were(items: list[Any]) -> None:
    back = given_back(Format.OPENAI_RESPONSES, ASKED, *items, ASKED)
    assert without_marks(back) == without_marks([ASKED, *items, ASKED])


def test_a_provider_s_own_call_that_was_stored_twice_is_shown_under_another_id_the_second_time() -> None:
    small = {**SEARCHED, "content": [SEARCHED["content"][0], {**SEARCHED["content"][1], "content": []}]}
    back = given_back(Format.ANTHROPIC, QUESTION, small, QUESTION, small, QUESTION)
    assert [back[1]["content"][0]["type"], back[3]["content"][0]["type"]] == ["server_tool_use", "tool_use"]
    looked = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    items = given_back(Format.OPENAI_RESPONSES, ASKED, looked, looked, ASKED)
    assert [item["type"] for item in items[1:3]] == ["web_search_call", "function_call"]


@pytest.mark.parametrize("shape", list(CHECKS))
def test_a_search_for_tools_that_openai_made_itself_meets_its_output_though_neither_has_an_id(shape: Format) -> None:
    searched = {"type": "tool_search_call", "call_id": None, "arguments": {"q": "x"}, "execution": "server"}
    tools = [{"type": "function", "name": "weather", "parameters": {}, "strict": True}]
    found = {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": tools}
    twice = [each | {"id": f"{kind}_{n}"} for n in (1, 2) for kind, each in (("tsc", searched), ("tso", found))]
    told = str(given_back(shape, ASKED, *twice, ASKED))
    assert told.count("weather") == 2
    assert "no result" not in told
    assert "[result of" not in told


def test_what_openai_ran_itself_does_not_close_a_call_of_the_agent_s_own_beside_it() -> None:
    called = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}
    looked = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    answered = {"type": "function_call_output", "call_id": "c1", "output": "20"}
    back = given_back(Format.OPENAI_RESPONSES, ASKED, called, looked, answered)
    assert without_marks(back) == without_marks([ASKED, called, looked, answered])


def test_what_openai_compacted_does_not_stand_between_reasoning_and_what_it_led_to() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    compacted = {"type": "compaction", "encrypted_content": "gAAB"}
    called = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "search", "arguments": "{}"}
    back = given_back(Format.OPENAI_RESPONSES, ASKED, thought, compacted, called)
    assert without_marks(back) == without_marks([ASKED, compacted, thought, called])


@pytest.mark.parametrize("shape", list(CHECKS))
@pytest.mark.parametrize("sizes", [(1, 1, 2), (2, 1, 1), (1, 1, 1, 1)])
def test_gemini_s_calls_and_results_without_ids_meet_by_their_order_in_whatever_messages_they_came(
    shape: Format, sizes: tuple[int, ...]
) -> None:
    """A streamed answer comes in chunks, each with its calls."""
    asked = [{"role": "model", "parts": [{"function_call": {"name": "search", "args": {"n": n}}}]} for n in (1, 2)]
    found = [
        {"role": "user", "parts": [{"function_response": {"name": "search", "response": {"found": n}}}]} for n in (1, 2)
    ]
    together = [{**said[0], "parts": [part for each in said for part in each["parts"]]} for said in (asked, found)]
    turns = {(1, 1, 2): [*asked, together[1]], (2, 1, 1): [together[0], *found], (1, 1, 1, 1): [*asked, *found]}
    told = str(given_back(shape, {"role": "user", "parts": [{"text": "Hi"}]}, *turns[sizes]))
    assert "no result" not in told
    assert "[result of" not in told


def test_the_words_of_what_openai_s_assistant_spoke_are_shown_and_its_bytes_kept() -> None:
    spoken = {"id": "audio_1", "data": "aGk=", "expires_at": 1_764_000_000, "transcript": "It is warmer in Lisbon."}
    said = {"role": "assistant", "content": None, "audio": spoken}
    for shape in CHECKS:
        assert "It is warmer in Lisbon." in str(given_back(shape, QUESTION, said, QUESTION))
    [part] = stored([said])[0].parts
    assert (part["file_id"], part["data"], part["expires_at"]) == ("audio_1", "aGk=", 1_764_000_000)


def test_the_tools_that_the_agent_s_own_search_found_come_back_as_they_were() -> None:
    said = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {}}]}
    found = [{"type": "tool_reference", "tool_name": name} for name in ("weather", "time")]
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": found}]}
    assert without_marks(given_back(Format.ANTHROPIC, QUESTION, said, answer)) == without_marks(
        [QUESTION, said, answer]
    )


@pytest.mark.parametrize(
    "odd", [{"type": "tool_reference", "tool_name": "no name"}, {"type": "tool_reference"}, {"type": "text"}, 5]
)
def test_what_names_no_tool_is_shown_as_text(odd: Any) -> None:
    said = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {}}]}
    found = {"type": "tool_result", "tool_call_id": "c1", "output": [{"type": "tool_reference", "tool_name": "a"}, odd]}
    [_, _, answer] = given_back(Format.ANTHROPIC, QUESTION, said, {"role": "tool", "content": [found]})
    assert [block["type"] for block in answer["content"][0]["content"]] == ["text"]


def test_a_blank_text_of_a_server_tool_is_not_given_back() -> None:
    used = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "roll", "server_name": "dice", "input": {}}
    answered = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False}
    texts = [{"type": "text", "text": text} for text in (" ", "4")]
    said = {"role": "assistant", "content": [used, {**answered, "content": texts}]}
    shown = {"role": "assistant", "content": [used, {**answered, "content": texts[1:]}]}
    back = given_back(Format.ANTHROPIC, QUESTION, said, QUESTION)
    assert without_marks(back) == without_marks([QUESTION, shown, QUESTION])


def test_for_another_provider_its_tools_are_the_agent_s_own() -> None:
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
    [_, said, answer] = given_back(Format.ANTHROPIC, QUESTION, item, QUESTION)
    assert said["content"][0]["name"] == "web_search"
    assert answer["content"][0]["type"] == "tool_result"

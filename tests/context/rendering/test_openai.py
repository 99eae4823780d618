from typing import Any

import pytest
from openai.types.chat import completion_create_params
from pydantic import TypeAdapter

from app.context.compile import compile_context
from app.context.model import Format, Layout, Turn
from app.context.rendering.openai import render
from app.context.wording import NO_RESULT
from app.sessions.model import Message, Part, Role
from app.sessions.wire import normalise
from tests.context.building import (
    ask,
    assistant,
    call,
    log_of,
    message,
    observation,
    reflection,
    result,
    snapshot,
    system,
    text,
    tool,
    user,
)
from tests.context.shapes import check_openai
from tests.steps import steps

MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def rendered(*said: Any, asked: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return of_log(log_of(*said), asked, **fields)


def of_log(log: tuple[Message, ...], asked: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    payload = compile_context(snapshot(log, **fields), ask(Format.OPENAI, **(asked or {}))).payload
    check_openai(payload)
    return payload


def test_the_payload_is_arguments_of_the_sdks_call() -> None:
    payload = rendered(user("Hi"), asked={"system": ("You help.",)})
    model = {"model": "gpt-x"}
    TypeAdapter(completion_create_params.CompletionCreateParamsNonStreaming).validate_python({**model, **payload})
    assert payload["messages"][0] == {"role": "system", "content": [text("You help.") | MARK]}


def test_the_cache_key_is_the_sessions_own_and_stable() -> None:
    keys = {rendered(user("a"))["prompt_cache_key"], rendered(user("b"), user("c"))["prompt_cache_key"]}
    other = rendered(user("a"), key="s2")["prompt_cache_key"]
    assert len(keys) == 1
    assert other not in keys
    assert len(other) <= 64


def test_calls_have_their_own_field_and_results_their_own_messages() -> None:
    said = (
        user("Find"),
        assistant("Looking.", call("c1", {"q": "x"})),
        assistant(call("c2")),
        tool(result("c1", "42"), result("c2", "no", is_error=True)),
    )
    assert rendered(*said)["messages"][1:] == [
        {
            "role": "assistant",
            "content": [text("Looking.")],
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":"x"}'}},
                {"id": "c2", "type": "function", "function": {"name": "search", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "content": [text("42")], "tool_call_id": "c1"},
        {"role": "tool", "content": [text("[error]"), text("no") | MARK], "tool_call_id": "c2"},
    ]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [('{"path": "a.t', '{"arguments":"{\\"path\\": \\"a.t"}'), ("[1]", '{"arguments":[1]}'), ("", "{}")],
)
def test_arguments_are_an_object_even_if_the_model_broke_off(sent: str, shown: str) -> None:
    """Some servers refuse others in every later request, so that the session could not go on."""
    (message,) = rendered(assistant(call("c1") | {"arguments": sent}))["messages"]
    assert message["tool_calls"][0]["function"]["arguments"] == shown


def test_arguments_are_the_models_own_bytes_where_they_are_known() -> None:
    sent = call("c1", {"q": 1}) | {"arguments_json": '{ "q": 1 }'}
    message = rendered(user("Find"), assistant(sent))["messages"][1]
    assert message["content"] is None
    assert message["tool_calls"][0]["function"]["arguments"] == '{ "q": 1 }'


def test_an_empty_output_says_so() -> None:
    messages = rendered(user("Find"), assistant(call("c1")), tool(result("c1", "")))["messages"]
    assert messages[-1]["content"] == [text("(no output)") | MARK]


CALLED = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
REASONED: list[dict[str, Any]] = [
    {
        "reasoning_content": "I must look."
    },  # DeepSeek refuses what follows such calls without it, also where it is empty
    {"reasoning_content": ""},
    {"reasoning": "I must look."},
    {"thinking": "I must look."},
    {"tool_plan": "I must look."},
    {"content": [{"type": "thinking", "thinking": [text("I must look.")], "signature": "sig", "closed": True}]},
    {"reasoning": "I must look.", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}]},
    {"reasoning_content": "hm", "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "sig"}]},
    {"tool_calls": [CALLED | {"extra_content": {"google": {"thought_signature": "c2ln"}}}]},
    {"tool_calls": [CALLED | {"provider_specific_fields": {"thought_signature": "c2ln"}}]},
]


@pytest.mark.parametrize("reasoned", REASONED)
def test_a_compatible_server_gets_its_reasoning_back_in_the_fields_it_used(reasoned: dict[str, Any]) -> None:
    said = {"role": "assistant", "content": None, "tool_calls": [CALLED], **reasoned}
    log = user("Find"), assistant(*normalise(said).parts), tool(result("c1")), assistant("Found.")
    messages = rendered(*log)["messages"]
    assert messages[1] == said
    assert rendered(*log[:3])["messages"][1] == said


def test_messages_with_reasoning_of_their_own_stay_apart() -> None:
    parts = [{"type": "reasoning", "text": of, "provider": "openai", "native": "reasoning"} for of in ("a", "b")]
    messages = rendered(user("Hi"), assistant(parts[0], "One"), assistant(parts[1], "Two"))["messages"]
    assert [message.get("reasoning") for message in messages] == [None, "a", "b"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "reasoning", "text": "hm"},
        {"type": "reasoning", "text": "hm", "signature": "sig", "provider": "anthropic"},
        {"type": "reasoning", "text": "hm", "provider": "openai", "native": "reasoning", "summary": []},
        {"type": "reasoning", "text": "hm", "provider": "openai", "native": {"reasoning": 1}},
        {"type": "reasoning", "text": "", "provider": "openai", "native": "reasoning_details", "details": "hm"},
    ],
)
def test_other_reasoning_is_not_sent_back(part: Part) -> None:
    messages = rendered(user("Hi"), assistant(part), assistant(part, "Hello"))["messages"]
    assert messages[1:] == [{"role": "assistant", "content": [text("Hello")]}]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (
            {"type": "image", "data": "aGk=", "media_type": "image/png"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        ),
        (
            {"type": "image", "url": "https://example.com/a.png", "detail": "low"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        ),
        (
            {"type": "file", "data": "aGk=", "media_type": "application/pdf", "name": "a.pdf"},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
        ),
        ({"type": "file", "data": "aGk=", "media_type": "text/csv", "name": "a.csv"}, text("[file: a.csv]\nhi")),
        ({"type": "file", "data": "aGk=", "media_type": "application/zip", "name": "a"}, text("[file: a]")),
        ({"type": "file", "url": "https://example.com/a.pdf", "name": "a.pdf"}, text("[file: a.pdf]")),
        ({"type": "file", "file_id": "file-1"}, {"type": "file", "file": {"file_id": "file-1"}}),
        ({"type": "image", "file_id": "f-1"}, text("[image]")),
        ({"type": "image", "data": "aGk=", "media_type": "image/tiff"}, text("[image: image/tiff]")),
        ({"type": "image", "url": "gs://bucket/a.png"}, text("[image]")),
        (
            {"type": "file", "data": "aGk=", "media_type": "audio/mpeg"},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        ),
        ({"type": "file", "data": "aGk=", "media_type": "audio/ogg"}, text("[file: audio/ogg]")),
        ({"type": "file", "content": "plain words"}, text("[file]\nplain words")),
    ],
)
def test_images_and_files_are_parts_where_they_can_be_seen(part: Part, shown: Any) -> None:
    assert rendered(user(part))["messages"][0]["content"] == [shown | MARK]


def test_images_of_the_assistant_and_of_tools_are_named() -> None:
    image = {"type": "image", "url": "https://example.com/a.png"}
    said = (user("Draw"), assistant(image, call("c1")), tool(result("c1", [image])))
    assert [message["content"][0]["text"] for message in rendered(*said)["messages"][1:]] == ["[image]", "[image]"]


def test_names_are_kept_and_keep_speakers_apart() -> None:
    log = (
        message(1, Role.USER, text("a"), name="Ana"),
        message(2, Role.USER, text("b"), name="Ana"),
        message(3, Role.USER, text("c"), name="Bo B."),
    )
    shown = of_log(log)["messages"]
    assert [part["text"] for part in shown[0]["content"]] == ["a", "b"]
    assert shown[0]["name"] == "Ana"
    assert shown[1]["name"].startswith("Bo_B_")
    assert [part["text"] for part in shown[1]["content"]] == ["Bo B.:", "c"]


def test_calls_before_the_first_result_are_one_message_whoever_makes_them() -> None:
    log = (
        message(1, Role.USER, text("Go")),
        message(2, Role.ASSISTANT, text("I plan."), call("c1", name="plan"), name="planner"),
        message(3, Role.ASSISTANT, call("c2", name="write"), name="writer"),
        message(4, Role.TOOL, result("c1")),
        message(5, Role.TOOL, result("c2")),
        message(6, Role.ASSISTANT, text("Done."), name="writer"),
    )
    shown = of_log(log)["messages"]
    assert [(one["role"], one.get("name")) for one in shown[1:]] == [
        ("assistant", "planner"),
        ("tool", None),
        ("tool", None),
        ("assistant", "writer"),
    ]
    assert [one["id"] for one in shown[1]["tool_calls"]] == ["c1", "c2"]


def test_a_system_message_of_the_tail_stays_one() -> None:
    assert rendered(user("Hi"), system("New policy."))["messages"][-1]["role"] == "system"


@pytest.mark.parametrize(
    ("said", "roles", "parts"),
    [
        ((user("Hi"),), ["user"], 2),
        ((user("Hi"), assistant(call("c1")), tool(result("c1"))), ["user", "assistant", "tool"], 2),
        ((user("Hi"), system("New policy.")), ["user", "system", "user"], 1),
    ],
)
def test_the_volatile_part_joins_the_user_or_a_tool_or_becomes_a_user(said: Any, roles: list[str], parts: int) -> None:
    shown = rendered(*said, asked={"channel": "sms"})["messages"]
    assert [one["role"] for one in shown] == roles
    assert len(shown[-1]["content"]) == parts
    assert "Channel: sms" in shown[-1]["content"][-1]["text"]


def test_calls_without_a_result_are_closed_before_the_volatile_part() -> None:
    shown = rendered(user("Hi"), assistant(call("c1"), call("c2")), tool(result("c1")), asked={"channel": "sms"})
    assert [(one["role"], one.get("tool_call_id")) for one in shown["messages"][-2:]] == [
        ("tool", "c1"),
        ("tool", "c2"),
    ]
    assert [part["text"].splitlines()[0] for part in shown["messages"][-1]["content"]] == [NO_RESULT, "<context>"]


def test_the_volatile_part_joins_a_named_user_too() -> None:
    shown = of_log((message(1, Role.USER, text("a"), name="Ana"),), {"channel": "sms"})["messages"]
    assert len(shown) == 1


def test_breakpoints_end_the_callers_part_the_log_and_the_tail_before_what_is_volatile() -> None:
    payload = rendered(user("Hi"), asked={"system": ("A", "B")}, observations=(observation(1, "Moved."),))
    first, last = payload["messages"]
    assert ["prompt_cache_breakpoint" in part for part in first["content"]] == [False, True, False, True]
    assert ["prompt_cache_breakpoint" in part for part in last["content"]] == [False, True, False]


@pytest.mark.parametrize(
    ("said", "marked"),
    [
        ((user("a"),), [0]),
        ((user("a"), assistant("b")), [0]),
        ((user("a"), assistant("b"), user("c"), user("d")), [0, 2]),
        ((user("a"), assistant(call("c1")), tool(result("c1")), assistant("b"), user("c")), [2, 4]),
        ((user("a"), assistant(call("c1")), tool(result("c1")), assistant("b")), [0, 2]),
        ((user("a"), assistant(call("c1"), call("c2")), tool(result("c1"), result("c2")), assistant("b")), [0, 3]),
    ],
)
def test_breakpoints_end_this_call_s_prefix_and_that_of_the_call_before(said: Any, marked: list[int]) -> None:
    messages = rendered(*said)["messages"]
    marks = ["prompt_cache_breakpoint" in str(message) for message in messages]
    assert [index for index, is_marked in enumerate(marks) if is_marked] == marked


def test_there_are_four_breakpoints_at_most_of_which_the_newest_notes_have_none() -> None:
    notes = {"reflections": (reflection(1, "Moved."),), "observations": (observation(2, "Rents."),)}
    prompt, *said = rendered(user("a"), assistant("b"), user("c"), asked={"system": ("A",)}, **notes)["messages"]
    marked = [part["text"].splitlines()[0] for part in prompt["content"] if "prompt_cache_breakpoint" in part]
    assert [marked[0], "Moved" in str(prompt["content"][-2]), len(marked)] == ["A", True, 2]
    assert str(said).count("prompt_cache_breakpoint") == 2


def test_a_server_that_takes_no_breakpoints_gets_none() -> None:
    payload = rendered(user("Hi"), asked={"system": ("A",), "breakpoints": False}, observations=(observation(1, "x"),))
    assert "prompt_cache_breakpoint" not in str(payload)


def rendering(messages: int) -> int:
    """The steps of rendering so many messages that the assistant wrote one after the other."""
    turns = [Turn(id=f"m{at}", role=Role.ASSISTANT, parts=(text(f"step {at}"),), tokens=5) for at in range(messages)]
    layout = Layout(stable=tuple(turns))
    return steps(lambda: render(layout, key="s1"))


def test_ten_times_as_many_messages_in_a_row_are_ten_times_the_work() -> None:
    assert rendering(1_000) < 11 * rendering(100)

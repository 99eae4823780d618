from dataclasses import replace
from typing import Any

import pytest

from app.context.compile import compile_context
from app.context.model import Format
from app.sessions.model import Kind, Part
from tests.context.building import (
    ask,
    assistant,
    call,
    log_of,
    observation,
    result,
    snapshot,
    system,
    text,
    tool,
    user,
)
from tests.context.shapes import check_responses

MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
PROVIDER = {"provider": "openai-responses"}


def rendered(*said: Any, asked: dict[str, Any] | None = None, **fields: Any) -> list[dict[str, Any]]:
    taken = snapshot(log_of(*said), **fields)
    payload = compile_context(taken, ask(Format.OPENAI_RESPONSES, **(asked or {}))).payload
    check_responses(payload)
    items: list[dict[str, Any]] = payload["input"]
    return items


def said_by_user(*content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(content)}


def input_text(value: str) -> dict[str, Any]:
    return {"type": "input_text", "text": value}


def thought(item_id: str, **fields: Any) -> Part:
    return {"type": "reasoning", "text": "hm", **PROVIDER, "native": "reasoning", "item_id": item_id, **fields}


SUMMARY = [{"type": "summary_text", "text": "hm"}]
ENCRYPTED = thought("rs_1", summary=SUMMARY, encrypted_content="gAAA")
SHOWN = {"type": "reasoning", "id": "rs_1", "summary": SUMMARY, "encrypted_content": "gAAA"}
OWN_CALL = call("c1", {"q": "x"}) | {"item_id": "fc_1", "status": "completed"}


def test_everything_said_is_an_item_of_its_own() -> None:
    looked = (assistant("Looking.", call("c1", {"q": "x"})), tool(result("c1", "42")))
    items = rendered(user("Find"), *looked, user("Ok"), assistant("b"), user("Bye"))
    assert items == [
        said_by_user(input_text("Find")),
        {"type": "message", "role": "assistant", "content": "Looking."},
        {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q":"x"}'},
        {"type": "function_call_output", "call_id": "c1", "output": [input_text("42")]},
        said_by_user(input_text("Ok") | MARK),
        {"type": "message", "role": "assistant", "content": "b"},
        said_by_user(input_text("Bye") | MARK),
    ]


def test_the_system_prompt_is_the_first_message_with_its_breakpoints() -> None:
    first = rendered(user("Hi"), asked={"system": ("A", "B")}, observations=(observation(1, "Moved."),))[0]
    assert (first["type"], first["role"]) == ("message", "system")
    assert ["prompt_cache_breakpoint" in part for part in first["content"]] == [False, True, False, True]


def test_encrypted_reasoning_and_what_it_led_to_go_back_as_they_came() -> None:
    items = rendered(user("Find"), assistant(ENCRYPTED), assistant(OWN_CALL), tool(result("c1", "42")))
    called = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q":"x"}'}
    assert items[1:3] == [SHOWN, called | {"id": "fc_1", "status": "completed"}]


def test_the_assistants_message_goes_back_under_its_own_id() -> None:
    said = text("Done.") | {"item_id": "msg_1", "phase": "final_answer", "annotations": []}
    refused = text("No.") | {"item_id": "msg_1", "provider": "openai", "native": "refusal"}
    [_, _, message] = rendered(user("Find"), assistant(ENCRYPTED), assistant(said, refused))
    assert message == {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "Done.", "annotations": []},
            {"type": "refusal", "refusal": "No."},
        ],
        "phase": "final_answer",
    }


@pytest.mark.parametrize(
    "reasoning",
    [
        thought("rs_1", summary=SUMMARY),  # nothing encrypted: only known where it was stored
        {"type": "reasoning", "text": "hm", "signature": "sig", "provider": "anthropic"},
        {"type": "reasoning", "text": "hm", "provider": "gemini", "thoughtSignature": "c2ln"},
    ],
)
def test_other_reasoning_is_not_shown(reasoning: Part) -> None:
    items = rendered(user("Find"), assistant(reasoning, call("c1")), tool(result("c1")))
    assert [item["type"] for item in items] == ["message", "function_call", "function_call_output"]


def test_where_reasoning_is_missing_what_it_led_to_has_no_id() -> None:
    [_, called, _] = rendered(user("Find"), assistant(thought("rs_1")), assistant(OWN_CALL), tool(result("c1")))
    assert "id" not in called


@pytest.mark.parametrize("said", [text("Done.") | {"item_id": "msg_1"}, OWN_CALL])
def test_what_erased_reasoning_led_to_has_no_id(said: Part) -> None:
    items = rendered(user("Find"), assistant(), assistant(said))
    assert [item for item in items if "id" in item] == []


def test_reasoning_that_led_to_an_erased_item_is_not_shown() -> None:
    again = thought("rs_2", summary=SUMMARY, encrypted_content="gAAA")
    items = rendered(user("Find"), assistant(ENCRYPTED), assistant(), assistant(again), assistant("Ok"), user("Go on"))
    assert [item["type"] for item in items] == ["message"] * 3


def test_the_items_of_one_message_keep_their_order() -> None:
    again = thought("rs_2", summary=SUMMARY, encrypted_content="gAAA")
    said = (ENCRYPTED, OWN_CALL, again, OWN_CALL | {"id": "c2", "item_id": "fc_2"})
    items = rendered(user("Find"), assistant(*said), tool(result("c1"), result("c2")))
    assert [item["id"] for item in items if "id" in item] == ["rs_1", "fc_1", "rs_2", "fc_2"]


@pytest.mark.parametrize("memory", [(), (observation(1, "Moved."),)])
def test_at_the_head_of_a_cut_tail_nothing_has_an_id(memory: Any) -> None:
    """The reasoning that led to it may have been left out."""
    items = rendered(assistant(OWN_CALL), tool(result("c1")), assistant(ENCRYPTED, "Ok"), observations=memory)
    assert [item["id"] for item in items if "id" in item] == ["rs_1"]


def test_words_that_close_a_call_stay_behind_their_reasoning() -> None:
    said = text("Never mind.") | {"item_id": "msg_1"}
    items = rendered(user("Find"), assistant(call("c1")), assistant(ENCRYPTED), assistant(said))
    assert [item["type"] for item in items[2:]] == ["function_call_output", "reasoning", "message"]
    assert [item["id"] for item in items if "id" in item] == ["rs_1", "msg_1"]


def test_behind_a_summary_nothing_has_an_id() -> None:
    """The reasoning that led to it may be among what the summary stands for."""
    summary = replace(log_of(user("In short."))[0], seq=9, kind=Kind.SUMMARY, up_to_seq=1)
    said = text("Done.") | {"item_id": "msg_1"}
    items = rendered(assistant(said), user("And?"), assistant(said | {"item_id": "msg_2"}), summary=summary)
    assert [item["id"] for item in items if "id" in item] == ["msg_2"]


def test_no_id_is_used_twice() -> None:
    said = (user("Find"), assistant(ENCRYPTED), assistant(OWN_CALL), tool(result("c1")))
    items = rendered(*said, *said)
    assert [item["type"] for item in items if "id" in item] == ["reasoning", "function_call"]


def test_an_id_of_another_kind_of_item_is_not_given_to_a_call() -> None:
    click = call("c1", name="computer") | {**PROVIDER, "native": "computer_call", "item_id": "cu_1"}
    [_, called, _] = rendered(user("Open"), assistant(click), tool(result("c1")))
    assert called == {"type": "function_call", "call_id": "c1", "name": "computer", "arguments": "{}"}


SHELL = call("c1", {"action": {"commands": ["ls"]}}, name="shell") | {**PROVIDER, "native": "shell_call"}
EXITED = {"type": "exit", "exit_code": 0}


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (result("c1", "a.txt"), {"stdout": "a.txt", "stderr": "", "outcome": EXITED}),
        (result("c1", ""), {"stdout": "(no output)", "stderr": "", "outcome": EXITED}),
        (result("c1", "gone", is_error=True), {"stdout": "gone", "stderr": "", "outcome": EXITED | {"exit_code": 1}}),
        (result("c9"), {"stdout": "(no result)", "stderr": "", "outcome": EXITED}),
    ],
)
def test_a_shell_s_result_has_its_shape_whatever_was_answered(answer: Part, output: Any) -> None:
    answered = rendered(user("List"), assistant(SHELL), tool(answer))[2]
    assert answered == {"type": "shell_call_output", "call_id": "c1", "output": [output]}


def test_a_call_of_the_shell_that_openai_cannot_have_made_is_a_functions() -> None:
    items = rendered(user("List"), assistant(SHELL | {"arguments": {"action": "ls"}}), tool(result("c1")))
    assert [item["type"] for item in items[1:]] == ["function_call", "function_call_output"]


LEAVE = call("mcpr_1", {"server_label": "d", "name": "roll", "arguments": "{}"}, name="mcp_approval_request") | {
    **PROVIDER,
    "native": "mcp_approval_request",
    "item_id": "mcpr_1",
}


def test_leave_that_nobody_gave_was_not_given() -> None:
    items = rendered(user("Roll"), assistant(LEAVE), user("Forget it"))
    answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}
    assert items[2] == answer | {"approve": False, "reason": "(no result)"}


def test_leave_that_is_asked_for_last_waits_for_the_answer() -> None:
    asked = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "d", "name": "roll", "arguments": "{}"}
    assert rendered(user("Roll"), assistant(LEAVE))[-1] == asked


@pytest.mark.parametrize(
    "odd",
    [
        LEAVE | {"arguments": {"name": "roll"}},
        LEAVE | {"item_id": "mcpr_2"},
        {key: value for key, value in LEAVE.items() if key != "item_id"},
    ],
)
def test_leave_that_openai_cannot_have_asked_for_is_a_functions(odd: Part) -> None:
    items = rendered(user("Roll"), assistant(odd), tool(result("mcpr_1", {"approve": True})))
    assert [item["type"] for item in items[1:]] == ["function_call", "function_call_output"]


def test_at_the_head_of_a_cut_tail_leave_is_a_functions() -> None:
    items = rendered(assistant(LEAVE), tool(result("mcpr_1", {"approve": True})), user("Ok"))
    assert [item["type"] for item in items[:2]] == ["function_call", "function_call_output"]


def test_reasoning_that_led_to_nothing_is_not_shown() -> None:
    assert rendered(user("Find"), assistant(ENCRYPTED), user("Well?")) == [
        said_by_user(input_text("Find")),
        said_by_user(input_text("Well?") | MARK),
    ]


def test_a_file_in_a_tools_output_has_a_name_whatever_stands_there() -> None:
    pdf = {"type": "file", "data": "aGk=", "media_type": "application/pdf", "name": ["a.pdf"]}
    shown = rendered(user("Read"), assistant(call("c1")), tool(result("c1", [pdf])))[-1]["output"]
    assert [one["filename"] for one in shown] == ["file"]


def test_a_custom_call_and_its_result_are_of_their_kind() -> None:
    custom = call("c1", "ls -l", name="shell") | {**PROVIDER, "native": "custom_tool_call"}
    asked = {"breakpoints": False}
    assert rendered(user("List"), assistant(custom), tool(result("c1", "a.txt")), asked=asked)[1:] == [
        {"type": "custom_tool_call", "call_id": "c1", "name": "shell", "input": "ls -l"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.txt"},
    ]


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (result("c1", {"hits": 3}), '{"hits":3}'),
        (result("c1", ""), "(no output)"),
        (result("c1", "gone", is_error=True), [input_text("[error]"), input_text("gone")]),
        (
            result("c1", [{"type": "image", "url": "https://example.com/a.png"}]),
            [{"type": "input_image", "detail": "auto", "image_url": "https://example.com/a.png"}],
        ),
    ],
)
def test_an_output_is_a_text_or_parts(answer: Part, output: Any) -> None:
    asked = {"breakpoints": False}
    assert rendered(user("Find"), assistant(call("c1")), tool(answer), asked=asked)[-1]["output"] == output


def test_an_output_that_ends_the_prefix_of_a_call_carries_a_breakpoint() -> None:
    steps = [(assistant(call(f"c{step}")), tool(result(f"c{step}", "42"))) for step in range(3)]
    items = rendered(user("Find"), *(said for step in steps for said in step))
    assert [item["output"] for item in items[2::2]] == [[input_text("42") | mark] for mark in ({}, MARK, MARK)]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (
            {"type": "image", "data": "aGk=", "media_type": "image/png", "detail": "low"},
            {"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,aGk="},
        ),
        ({"type": "image", "file_id": "file-1"}, {"type": "input_image", "detail": "auto", "file_id": "file-1"}),
        ({"type": "image", "file_id": "file_anthropic"}, input_text("[image]")),
        ({"type": "image", "data": "aGk=", "media_type": "image/tiff"}, input_text("[image: image/tiff]")),
        ({"type": "image", "url": "gs://bucket/a.png"}, input_text("[image]")),
        ({"type": "file", "data": "aGk=", "media_type": "video/mp4"}, input_text("[file: video/mp4]")),
        ({"type": "file", "url": "https://example.com", "content": [text("found")]}, input_text("[file]\nfound")),
        (
            {"type": "file", "data": "aGk=", "media_type": "application/pdf", "name": "a.pdf"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        ),
        (
            {"type": "file", "url": "https://example.com/a.pdf"},
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        ),
        ({"type": "file", "file_id": "file-1"}, {"type": "input_file", "file_id": "file-1"}),
        ({"type": "file", "content": "plain words", "name": "a.txt"}, input_text("[file: a.txt]\nplain words")),
    ],
)
def test_images_and_files_are_input_where_they_can_be_seen(part: Part, shown: Any) -> None:
    [message] = rendered(user(part))
    assert message["content"] == [shown | MARK]


def test_a_system_message_of_the_tail_keeps_its_role() -> None:
    assert rendered(user("Hi"), system("New policy."))[-1]["role"] == "system"


CONTEXT = "<context>\nToday is Saturday, November 21, 2026.\nChannel: sms\n</context>"


@pytest.mark.parametrize(
    ("breakpoints", "shown"),
    [(True, [input_text("done") | MARK, input_text(CONTEXT)]), (False, f"done\n\n{CONTEXT}")],
)
def test_what_is_volatile_joins_the_output_of_a_function(*, breakpoints: bool, shown: Any) -> None:
    """A user's message would part the model from its reasoning."""
    asked = {"channel": "sms", "breakpoints": breakpoints}
    *before, last = rendered(user("Go"), assistant(call("c1")), tool(result("c1")), asked=asked)
    assert [item.get("role") for item in before] == ["user", None]
    assert last["output"] == shown


def test_what_is_volatile_is_a_users_message_behind_an_output_that_takes_no_text() -> None:
    *_, found, last = rendered(user("Go"), assistant(SHELL), tool(result("c1")), asked={"channel": "sms"})
    assert found["type"] == "shell_call_output"
    assert last["role"] == "user"

from typing import Any

import pytest

from app.context.compile import compile_context
from app.context.model import Format
from app.context.rendering.anthropic import CACHEABLE, EPHEMERAL
from app.context.rendering.thread import Thread
from app.sessions.model import Part
from tests.context.building import (
    ask,
    assistant,
    call,
    log_of,
    observation,
    reflection,
    result,
    snapshot,
    system,
    text,
    tool,
    user,
)
from tests.context.shapes import check_anthropic

MARK = {"cache_control": {"type": "ephemeral"}}
TOO_DEEP = '{"a":' * 300 + "1" + "}" * 300  # orjson reads it and does not write it


def rendered(*said: Any, asked: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    payload = compile_context(snapshot(log_of(*said), **fields), ask(Format.ANTHROPIC, **(asked or {}))).payload
    check_anthropic(payload)
    return payload


def only_part(part: Part, *, of: Any = user) -> Any:
    """The block a part becomes, less the breakpoint."""
    message = rendered(user("Look"), assistant("Yes?"), of(part))["messages"][-1]
    return {key: value for key, value in message["content"][-1].items() if key != "cache_control"}


def test_what_the_assistant_said_last_ends_without_white_space() -> None:
    """Anthropic refuses it otherwise where it is to be gone on with."""
    [_, said] = rendered(user("List"), assistant("One: ", "two, \n"))["messages"]
    assert [block["text"] for block in said["content"]] == ["One: ", "two,"]


def test_neighbours_of_one_role_become_one_message() -> None:
    messages = rendered(user("a"), user("b"), assistant("c"), assistant("d"))["messages"]
    assert messages == [
        {"role": "user", "content": [text("a"), text("b")]},
        {"role": "assistant", "content": [text("c"), text("d") | MARK]},
    ]


def test_a_breakpoint_is_on_the_last_block_that_may_have_one() -> None:
    thread = Thread()
    thread.add("assistant", [text("a"), {"type": "thinking", "thinking": "b", "signature": "c2ln"}])
    thread.mark("cache_control", EPHEMERAL, types=CACHEABLE)
    assert ["cache_control" in part for part in thread.messages[0]["content"]] == [True, False]


JPEG = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}}
WEB: dict[str, Any] = {
    "type": "web_search_result_location",
    "cited_text": "Lisbon is the capital.",
    "encrypted_index": "Eo8B",
    "url": "https://example.com",
    "title": None,
}


@pytest.mark.parametrize(
    ("citations", "shown"),
    [
        ([WEB], [WEB]),
        ([WEB | {"file_id": None}, {"type": "char_location", "cited_text": "x", "document_index": 0}], [WEB]),
        ([WEB | {"encrypted_index": 5}, "junk"], None),
        ("junk", None),
        (None, None),
    ],
)
def test_what_of_the_web_a_text_rests_on_goes_back_with_it(citations: Any, shown: Any) -> None:
    part = text("Lisbon is the capital.") | {"citations": citations}
    assert only_part(part, of=assistant).get("citations") == shown
    assert "citations" not in only_part(part)


def test_calls_and_results_are_blocks_of_the_two_roles() -> None:
    said = (user("Find"), assistant("Looking.", call("c1", {"q": "x"})), tool(result("c1", "42", is_error=True)))
    assert rendered(*said)["messages"][1:] == [
        {
            "role": "assistant",
            "content": [text("Looking."), {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "x"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [text("42")], "is_error": True} | MARK,
            ],
        },
    ]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"q": 1}, {"q": 1}),
        ('{"q": 1}', {"q": 1}),
        ("", {}),
        ("{broken", {"arguments": "{broken"}),
        ("[1]", {"arguments": [1]}),
        (TOO_DEEP, {"arguments": TOO_DEEP}),
    ],
)
def test_a_calls_input_is_an_object(arguments: Any, shown: Any) -> None:
    block = {"type": "tool_call", "id": "c1", "name": "search", "arguments": arguments}
    assert only_part(block, of=assistant)["input"] == shown


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("42", [text("42")]),
        ({"hits": 3}, [text('{"hits":3}')]),
        ([text("a"), text(" ")], [text("a")]),
        (["a", 1], [text('["a",1]')]),
        (
            [{"type": "image", "url": "https://example.com/a.png"}],
            [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}],
        ),
    ],
)
def test_a_results_output_is_blocks(output: Any, content: Any) -> None:
    messages = rendered(user("Find"), assistant(call("c1")), tool(result("c1", output)))["messages"]
    assert messages[-1]["content"][0]["content"] == content


def test_an_empty_output_has_no_content() -> None:
    messages = rendered(user("Find"), assistant(call("c1")), tool(result("c1", "")))["messages"]
    assert "content" not in messages[-1]["content"][0]


def test_an_error_without_words_is_given_some() -> None:
    messages = rendered(user("Find"), assistant(call("c1")), tool(result("c1", " ", is_error=True)))["messages"]
    assert messages[-1]["content"][0]["content"] == [text("(no output)")]


def test_an_error_with_an_image_is_told_in_words_so_that_the_image_is_seen() -> None:
    shot = {"type": "image", "data": "aGk=", "media_type": "image/png"}
    failed = result("c1", [text("Not found."), shot], is_error=True)
    (block,) = rendered(user("Go"), assistant(call("c1")), tool(failed))["messages"][-1]["content"]
    assert [item["type"] for item in block["content"]] == ["text", "text", "image"]
    assert block["content"][:2] == [text("[error]"), text("Not found.")]
    assert "is_error" not in block


@pytest.mark.parametrize("named", ["image/png", "image/jpg", "image/tiff", None])
def test_an_image_is_of_the_type_that_its_bytes_are(named: str | None) -> None:
    image = {"type": "image", "data": "/9j/4AAQ", "media_type": named}
    source = rendered(user(image))["messages"][0]["content"][0]["source"]
    assert source["media_type"] == "image/jpeg"


def test_thinking_is_kept_exactly_and_other_reasoning_is_not_shown() -> None:
    parts = (
        {"type": "reasoning", "text": "hm", "signature": "sig", "provider": "anthropic"},
        {"type": "reasoning", "text": "", "provider": "anthropic", "native": "redacted_thinking", "data": "abc"},
        {"type": "reasoning", "text": "unsigned"},
        {"type": "reasoning", "text": "foreign", "signature": "sig", "provider": "gemini"},
    )
    content = rendered(user("Hi"), assistant(*parts, "Hello"))["messages"][1]["content"]
    assert content == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "abc"},
        text("Hello") | MARK,
    ]


THINKING = {"type": "reasoning", "text": "hm", "signature": "sig", "provider": "anthropic"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}


def test_thinking_waits_for_what_it_led_to() -> None:
    assert len(rendered(user("Hi"), assistant(THINKING))["messages"]) == 1
    [_, said] = rendered(user("Hi"), assistant(THINKING), assistant("Hello", THINKING), assistant("Ok"))["messages"]
    assert said["content"] == [THOUGHT, text("Hello"), THOUGHT, text("Ok") | MARK]


def test_thinking_that_led_to_nothing_is_not_shown() -> None:
    messages = rendered(user("Hi"), assistant("Hello", THINKING), user("Well?"), assistant("Ok"))["messages"]
    assert [message["content"][0]["text"] for message in messages] == ["Hi", "Hello", "Well?", "Ok"]
    assert [len(message["content"]) for message in messages] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            {"type": "image", "data": "aGk=", "media_type": "image/png"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ),
        (
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},  # of MCP
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ),
        (
            {"type": "image", "data": "aGk=", "mime_type": "image/png"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ),
        (
            {"type": "image", "data": "_9j_4AAQ"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"}},
        ),
        (
            {"type": "image", "url": "data:image/png;base64,aGk="},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ),
        ({"type": "image", "data": "aGk=", "media_type": "image/tiff"}, text("[image: image/tiff]")),
        (
            {"type": "file", "data": "aGk=", "media_type": "application/pdf", "name": "a.pdf"},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
                "title": "a.pdf",
            },
        ),
        (
            {"type": "file", "content": "plain words"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain words"}},
        ),
        (
            {"type": "file", "data": "aGk=", "media_type": "text/csv"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}},
        ),
        (
            {"type": "file", "content": [text("in parts"), text(" ")]},
            {"type": "document", "source": {"type": "content", "content": [text("in parts")]}},
        ),
        (
            {"type": "file", "content": [{"type": "image", "url": "https://example.com/a.png"}], "name": "a.txt"},
            text("[file: a.txt]\n[image]"),
        ),
        ({"type": "image", "data": "aGk=", "media_type": "image/jpg"}, JPEG),
        ({"type": "image", "url": "http://example.com/a.png"}, text("[image]")),
        ({"type": "image", "url": "gs://bucket/a.png", "media_type": "image/png"}, text("[image: image/png]")),
        ({"type": "image", "file_id": "file_1"}, {"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
        ({"type": "image", "file_id": "file-of-openai"}, text("[image]")),
        ({"type": "file", "file_id": "f-1"}, text("[file]")),
        (
            {"type": "file", "data": "aGk=", "media_type": "application/zip", "name": "a.zip"},
            text("[file: a.zip]"),
        ),
    ],
)
def test_images_and_files_are_blocks_where_they_can_be_seen(part: Part, block: Any) -> None:
    assert only_part(part) == block


def test_the_assistants_own_images_are_named() -> None:
    assert only_part({"type": "image", "url": "https://example.com/a.png"}, of=assistant) == text("[image]")


def test_a_system_message_of_the_tail_is_told_by_the_user() -> None:
    messages = rendered(user("Hi"), system("New policy."))["messages"]
    shown = "<system-message>\nNew policy.\n</system-message>"
    assert messages == [{"role": "user", "content": [text("Hi"), text(shown) | MARK]}]


def test_a_tail_that_begins_with_the_assistant_gets_a_user_before_it() -> None:
    first = rendered(assistant("Welcome"))["messages"][0]
    assert first == {"role": "user", "content": [text("(The conversation continues below.)")]}


def test_with_a_memory_the_continuation_note_is_that_user() -> None:
    messages = rendered(assistant("Welcome"), observations=(observation(1, "Moved."),))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]


def test_breakpoints_end_the_callers_part_the_log_and_the_tail_before_what_is_volatile() -> None:
    payload = rendered(user("Hi"), asked={"system": ("A", "B")}, observations=(observation(1, "Moved."),))
    assert ["cache_control" in block for block in payload["system"]] == [False, True, False, True]
    assert ["cache_control" in part for part in payload["messages"][0]["content"]] == [False, True, False]


@pytest.mark.parametrize(("steps", "is_marked"), [(9, False), (10, True)])
@pytest.mark.parametrize("said_next", [(), (assistant("Done."), user("Next"))])
def test_a_turn_of_so_many_blocks_that_the_last_breakpoint_does_not_reach_its_beginning_has_one_there(
    steps: int, said_next: Any, *, is_marked: bool
) -> None:
    """The call before ended there, if the agent asks for a context only as the user speaks."""
    taken = [(assistant(call(f"c{step}")), tool(result(f"c{step}"))) for step in range(steps)]
    messages = rendered(user("Go"), *(said for step in taken for said in step), *said_next)["messages"]
    marked = [index for index, message in enumerate(messages) if "cache_control" in str(message)]
    is_marked = is_marked or bool(said_next)
    assert marked == ([0, len(messages) - 1] if is_marked else [len(messages) - 1])


def test_no_breakpoint_is_one_too_many_nor_set_if_none_is_wanted() -> None:
    taken = [(assistant(call(f"c{step}")), tool(result(f"c{step}"))) for step in range(12)]
    said = (user("Go"), *(said for step in taken for said in step))
    notes = {"reflections": (reflection(1, "Moved."),), "observations": (observation(2, "Rents."),)}
    assert str(rendered(*said, asked={"system": ("A",)}, **notes)).count("cache_control") == 4
    assert str(rendered(*said, asked={"system": ("A",), "breakpoints": False}, **notes)).count("cache_control") == 0


def test_ids_and_names_are_made_acceptable_and_still_meet() -> None:
    odd = "fc|" + "x" * 200
    messages = rendered(user("Go"), assistant(call(odd, name="read file")), tool(result(odd)))["messages"]
    use, answer = messages[1]["content"][0], messages[2]["content"][0]
    assert use["id"] == answer["tool_use_id"]
    assert len(use["id"]) <= 64
    assert use["name"].startswith("read_file")


def test_redacted_thinking_without_its_data_is_not_shown() -> None:
    thinking = {"type": "reasoning", "text": "", "provider": "anthropic", "native": "redacted_thinking"}
    messages = rendered(user("Go"), assistant(thinking, "Done."))["messages"]
    assert messages[1]["content"] == [text("Done.") | MARK]


def test_an_upload_in_a_tool_s_output_is_told_where_only_the_user_s_own_is_one() -> None:
    upload = {
        "type": "file",
        "file_id": "file_1",
        "name": "a.csv",
        "provider": "anthropic",
        "native": "container_upload",
    }
    [*_, answer] = rendered(user("Go"), assistant(call("c1")), tool(result("c1", [upload])), user(upload))["messages"]
    answered, uploaded = answer["content"]
    assert answered["content"] == [text("[file: a.csv]")]
    assert uploaded["type"] == "container_upload"

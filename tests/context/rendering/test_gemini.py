from base64 import b64encode
from typing import Any

import pytest

from app.context.compile import compile_context
from app.context.model import Format
from app.sessions.model import Part
from tests.context.building import ask, assistant, call, log_of, observation, result, snapshot, system, tool, user
from tests.context.shapes import check_gemini

UNSIGNED = {"thought_signature": b64encode(b"skip_thought_signature_validator").decode()}
LOW = "MEDIA_RESOLUTION_LOW"


def rendered(*said: Any, asked: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    payload = compile_context(snapshot(log_of(*said), **fields), ask(Format.GEMINI, **(asked or {}))).payload
    check_gemini(payload)
    return payload


def contents(*said: Any, **fields: Any) -> list[tuple[str, list[Any]]]:
    return [(content["role"], content["parts"]) for content in rendered(*said, **fields)["contents"]]


def test_neighbours_of_one_role_become_one_content() -> None:
    assert contents(user("a"), user("b"), assistant("c"), assistant("d")) == [
        ("user", [{"text": "a"}, {"text": "b"}]),
        ("model", [{"text": "c"}, {"text": "d"}]),
    ]


def test_the_system_prompt_stands_in_the_config() -> None:
    payload = rendered(user("Hi"), asked={"system": ("You help.",)})
    assert payload["config"] == {"system_instruction": {"parts": [{"text": "You help."}]}}
    assert "config" not in rendered(user("Hi"))


def test_calls_and_results_meet_by_id_and_name() -> None:
    said = (user("Find"), assistant(call("c1", {"q": "x"}), call("c2")), tool(result("c1", "42")), tool(result("c2")))
    assert contents(*said)[1:] == [
        (
            "model",
            [
                {"function_call": {"id": "c1", "name": "search", "args": {"q": "x"}}, **UNSIGNED},
                {"function_call": {"id": "c2", "name": "search", "args": {}}},
            ],
        ),
        (
            "user",
            [
                {"function_response": {"id": "c1", "name": "search", "response": {"output": "42"}}},
                {"function_response": {"id": "c2", "name": "search", "response": {"output": "done"}}},
            ],
        ),
    ]


@pytest.mark.parametrize("written", ["file_data", "fileData"])
def test_a_file_in_a_response_is_given_back_as_it_was_spelt(written: str) -> None:
    attached = [{written: {"fileUri": "gs://bucket/a.pdf", "mimeType": "application/pdf"}}]
    answer = result("c1", {"hits": 1}) | {"functionResponse": {"parts": attached}}
    [_, _, (_, answered), *_] = contents(user("Find"), assistant(call("c1")), tool(answer))
    assert answered[0]["function_response"]["parts"] == attached


def test_an_id_that_gemini_did_not_give_is_not_sent_to_it() -> None:
    turn = (assistant(call("gemini:search:1")), tool(result("gemini:search:1", {"hits": 1})))
    [_, (_, called), (_, answered), *_] = contents(user("Find"), *turn, *turn)
    assert called == [{"function_call": {"name": "search", "args": {}}, **UNSIGNED}]
    assert answered == [{"function_response": {"name": "search", "response": {"hits": 1}}}]


@pytest.mark.parametrize("name", ["weather.now", "maps:route", "n" * 128])
def test_a_tool_keeps_the_name_that_gemini_lets_it_have(name: str) -> None:
    [_, (_, called), (_, answered), *_] = contents(user("Find"), assistant(call("c1", name=name)), tool(result("c1")))
    assert called[0]["function_call"]["name"] == answered[0]["function_response"]["name"] == name


def test_the_first_call_of_each_step_is_signed() -> None:
    """Gemini 3 refuses it otherwise, for one that another model made too."""
    mine = call("c3") | {"thoughtSignature": "c2ln"}
    steps = (
        assistant(call("c1")),
        assistant(call("c2")),
        tool(result("c1"), result("c2")),
        assistant(mine, call("c4")),
    )
    [_, (_, first), _, (_, second)] = contents(user("Find"), *steps)
    assert [part.get("thought_signature") for part in first] == [*UNSIGNED.values(), None]
    assert [part.get("thought_signature") for part in second] == ["c2ln", None]


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        (result("c1", {"hits": 3}), {"hits": 3}),
        (result("c1", [1, 2]), {"output": "[1,2]"}),
        (result("c1", ""), {"output": "(no output)"}),
        (result("c1", "gone", is_error=True), {"error": "gone"}),
        (result("c1", {"code": 404}, is_error=True), {"error": '{"code":404}'}),
        (result("c1", {"error": "gone"}, is_error=True), {"error": "gone"}),
    ],
)
def test_a_response_is_an_object(answer: Part, response: Any) -> None:
    [*_, (_, parts)] = contents(user("Find"), assistant(call("c1")), tool(answer))
    assert parts[0]["function_response"]["response"] == response


def test_signatures_of_gemini_s_own_come_back_and_others_reasoning_does_not() -> None:
    signed = {"thoughtSignature": "c2ln"}
    [_, (_, parts)] = contents(
        user("Hi"),
        assistant(
            {"type": "reasoning", "text": "hm", "provider": "gemini"} | signed,
            {"type": "reasoning", "text": "hm", "provider": "anthropic", "signature": "sig"},
            {"type": "text", "text": "Let me look."},
            {"type": "text", "text": ""} | signed,
            call("c1") | signed,
        ),
    )
    assert parts == [
        {"text": "hm", "thought": True, "thought_signature": "c2ln"},
        {"text": "Let me look."},
        {"text": "", "thought_signature": "c2ln"},
        {"function_call": {"id": "c1", "name": "search", "args": {}}, "thought_signature": "c2ln"},
    ]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (
            {"type": "image", "data": "aGk=", "media_type": "image/png"},
            {"inline_data": {"mime_type": "image/png", "data": "aGk="}},
        ),
        (
            {"type": "image", "url": "https://example.com/a.PNG?size=2"},
            {"file_data": {"file_uri": "https://example.com/a.PNG?size=2", "mime_type": "image/png"}},
        ),
        ({"type": "image", "url": "https://example.com/a"}, {"text": "[image]"}),
        ({"type": "file", "url": "gs://bucket/a"}, {"file_data": {"file_uri": "gs://bucket/a"}}),
        (
            {"type": "file", "url": "gs://a.mp4", "media_type": "video/mp4", "videoMetadata": {"fps": 1}},
            {"file_data": {"file_uri": "gs://a.mp4", "mime_type": "video/mp4"}, "video_metadata": {"fps": 1}},
        ),
        ({"type": "image", "data": "R0lGODlh", "media_type": "image/gif"}, {"text": "[image: image/gif]"}),
        ({"type": "image", "url": "https://example.com/a.gif"}, {"text": "[image]"}),
        ({"type": "file", "data": "aGk=", "media_type": "application/zip", "name": "a"}, {"text": "[file: a]"}),
        (
            {"type": "file", "data": "aGk=", "media_type": "text/csv"},
            {"inline_data": {"mime_type": "text/csv", "data": "aGk="}},
        ),
        ({"type": "file", "file_id": "f-1", "name": "a.txt"}, {"text": "[file: a.txt]"}),
        ({"type": "file", "url": "https://youtu.be/a"}, {"file_data": {"file_uri": "https://youtu.be/a"}}),
        (
            {"type": "image", "data": "aGk=", "media_type": "image/png", "mediaResolution": {"level": LOW}},
            {"inline_data": {"mime_type": "image/png", "data": "aGk="}, "media_resolution": {"level": LOW}},
        ),
    ],
)
def test_images_and_files_are_data_where_gemini_can_tell_what_they_are(part: Part, shown: Any) -> None:
    assert contents(user(part)) == [("user", [shown])]


def test_what_the_model_drew_goes_back_with_its_signature() -> None:
    drawn = {"type": "image", "data": "aGk=", "media_type": "image/png"}
    shown = {"inline_data": {"mime_type": "image/png", "data": "aGk="}, "thought_signature": "c2ln"}
    assert contents(user("Draw"), assistant(drawn | {"thoughtSignature": "c2ln"}))[1] == ("model", [shown])
    assert contents(user("Draw"), assistant(drawn))[1] == ("model", [{"text": "[image: image/png]"}])


def test_a_system_message_of_the_tail_is_told_by_the_user() -> None:
    [(role, parts)] = contents(user("Hi"), system("New policy."))
    assert (role, parts[-1]) == ("user", {"text": "<system-message>\nNew policy.\n</system-message>"})


def test_the_user_speaks_first() -> None:
    opening = contents(assistant("Welcome"))[0]
    note = contents(assistant("Welcome"), observations=(observation(1, "Moved."),))[0]
    assert [role for role, _ in (opening, note)] == ["user", "user"]
    assert [len(parts) for _, parts in (opening, note)] == [1, 1]

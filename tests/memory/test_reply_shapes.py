"""Replies as small models give them, over HTTP: nothing told is lost, no markup and no preface becomes a note."""

from pathlib import Path

import pytest

from app.memory.model import Parsed
from app.memory.parsing import parse
from tests.conftest import StartService
from tests.model_replies import PromptKind
from tests.model_server import ModelServer

REPLIES = (Path(__file__).parent / "replies.txt").read_text().removeprefix("== ").split("\n== ")
AT = "2026-08-03T10:00:00Z"
NOTED = """\
* 🔴 (10:00) [fact] User moved to Lisbon. #1
* 🟡 (10:05) [fact] User has a dog called Pico. #2"""
DAYS = {"elements of elements", "a table", "a table alone, with days", "JSON objects", "JSON by days", "moments"}
DAYS |= {"days in other forms"}  # what names none is of the day of its messages


async def test_what_a_model_tells_in_its_own_shape_is_noted_as_asked_for(
    start_service: StartService, models: ModelServer
) -> None:
    said: list[str] = []
    models.answers[PromptKind.OBSERVER] = lambda _: said[-1]
    found = {}
    async with start_service(provider="openai") as service:
        for number, (shape, _, reply) in enumerate(one.partition("\n") for one in REPLIES):
            said.append(reply)
            for text in ("I moved to Lisbon.", "I have a dog called Pico.", "Really, Lisbon is where I live now."):
                await service.append(f"s{number}", {"role": "user", "content": text, "created_at": AT})
            await service.observe(f"s{number}")
            found[shape] = (await service.get(f"/sessions/s{number}/memory/log"))["text"].split("\n", 2)[1:]
    days = {shape: "Aug 2, 2026" if shape in DAYS else "Aug 3, 2026" for shape in found}
    assert {shape: (day[6:17], lines) for shape, (day, lines) in found.items()} == {
        shape: (day, NOTED) for shape, day in days.items()
    }
    assert len(found) == len(REPLIES) == 30


@pytest.mark.parametrize(
    "line",
    [
        "User asked why `<item>` has no end",
        "f(**a, **b) and src/**/test/**/*.py",
        "High: 30 degrees, low: 20",
        "fact: he left",
        "🏠 is what the user sends",
        "Login fails (see #12)",
        "a | b | c",
    ],
)
def test_what_is_no_markup_stays(line: str) -> None:
    assert [one.text for one in parse(f"* {line}").items] == [line]


@pytest.mark.parametrize("value", ["[]", "{}", '{"observations": []}', '{"observations": "none"}'])
@pytest.mark.parametrize("fence", ["", "```"])
def test_what_stands_around_json_that_tells_nothing_is_no_note(value: str, fence: str) -> None:
    """It took the place of the messages, and of a log: "* Sure!"."""
    reply = f"Sure!\n\n{fence}\n{value}\n{fence}\n\nLet me know if you need anything else!"
    assert parse(reply) == Parsed(items=(), complete=True)


@pytest.mark.parametrize("value", ['{"current_task": "Move"}', '{"suggested-response": "Good."}'])
def test_what_stands_beside_json_of_the_task_alone_is_a_note(value: str) -> None:
    noted = ["User moves to Lisbon.", "User has a dog."]
    found = parse("\n".join([*noted, value]))
    assert [item.text for item in found.items] == noted
    assert found.current_task == "Move" or found.suggested_response == "Good."


@pytest.mark.parametrize("value", ['["current_task"]', '{"current_task": "Move", "observations": []}', "[{}]"])
def test_what_stands_around_json_with_a_place_for_notes_is_no_note(value: str) -> None:
    assert "Sure!" not in [item.text for item in parse(f"Sure!\n{value}").items]


HOSTILE = {
    "elements that nothing closes": "<observation>\n" * 70_000,
    "elements within elements": "<item><note><entry><fact><event><memory>" * 25_000,
    "elements in a line": "<item>a</item>" * 70_000,
    "attributes": "<item " + "a='b' " * 150_000 + ">x</item>",
    "children": "<item>" + "<a>b</a>" * 100_000 + "</item>",
    "children that nothing closes": "<item>" + "<a>b" * 200_000 + "</item>",
    "an element of blanks": "<item>" + " " * 1_000_000 + "</item>",
    "an element's attributes": "<item " + "a" * 1_000_000 + ">b</item>",
    "blank lines": "\n" * 1_000_000,
    "values": '["a"]\n' * 100_000,
    "deep arrays": "[[[[" * 250_000,
    "deep objects": '{"a":' * 200_000,
    "as deep as can be read": '{"a":' * 900 + "1" + "}" * 900,
    "bars": "|" * 1_000_000,
    "rules": "|-" * 400_000,
    "bold": "**a " * 250_000,
    "quoted": ">" * 1_000_000,
    "citations": "\n".join("* a (message #1" + ", #1" * 2_400 for _ in range(50)),
    "breaks": "<br>" * 200_000 + "x",
    "boxes": "\n".join("* " + "[x] " * 2_400 for _ in range(80)),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_megabyte_in_another_shape_is_read_in_linear_time(raw: str) -> None:
    parse(raw)  # quadratic, each of these takes minutes

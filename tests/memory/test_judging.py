from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from textwrap import dedent
from zoneinfo import ZoneInfo

import pytest

from app.kit.tokens import text_tokens
from app.llm.port import Usage
from app.memory.judging import JUDGED_TOKENS, dated, in_sight, observation_verdict
from app.memory.log import render
from app.memory.model import Call, Cite, Draft, Item, ObserverInput, Parsed
from app.memory.rules import ToolTokens
from app.memory.texts import all_text
from app.sessions.model import Kind, Message, Role
from tests.memory.building import said
from tests.steps import steps

CALL = Call(provider="scripted", model="m", prompt_version="1", usage=Usage(), latency_ms=0)


def closed(seq: int, day: int, hour: int = 12) -> Message:
    return said(seq, "The harbour is closed.", at=datetime(2026, 8, day, hour, tzinfo=UTC))


def judged(reply: str, *messages: Message, zone: str = "UTC") -> str:
    source = ObserverInput(messages=messages, timezone=ZoneInfo(zone), output_tokens=1_000)
    draft = Draft(text=dedent(reply), call=CALL, cut_off=False)
    return render(observation_verdict(draft, source, tokens=100, task=None).items)


def test_lines_under_no_date_get_the_day_on_which_what_they_cite_was_said() -> None:
    reply = """\
        <observations>
        * (23:00) The harbour is closed. #1
        * (01:00) The harbour is closed still. #2-3
        </observations>
        """

    assert judged(reply, closed(1, 1, 23), closed(2, 2, 1), closed(3, 3)).split("\n") == [
        "Date: Aug 1, 2026",
        "* (23:00) The harbour is closed. #1",
        "Date: Aug 2, 2026",
        "* (01:00) The harbour is closed still. #2-3",
    ]
    assert judged(reply, closed(1, 1, 23), closed(2, 2, 1), closed(3, 3), zone="Asia/Seoul").startswith(
        "Date: Aug 2, 2026"
    )


def dating(count: int) -> int:
    """The steps of looking for the days of so many lines, each of which cites ten messages that are not there."""
    messages = [closed(seq, 1) for seq in range(1, count + 1)]
    cites = tuple(Cite(seq, seq) for seq in range(1_000, 1_010))
    parsed = Parsed(items=tuple(Item(text=f"The harbour is closed {at}.", cites=cites) for at in range(count)))
    return steps(lambda: dated(parsed, messages, ZoneInfo("UTC")))


def test_ten_times_as_many_lines_of_ten_times_as_many_messages_are_about_ten_times_the_work() -> None:
    """A reply of four megabytes of citations took a minute to date."""
    assert dating(500) < 20 * dating(50)


def test_a_date_in_figures_is_the_day_of_it_on_which_something_was_said() -> None:
    reply = """\
        <observations>
        Date: 03/08/2026
        * The harbour is closed.
        Fecha: 5 de agosto
        * The harbour is closed still. #1
        Date: 06/08/2026
        * The harbour is closed again.
        </observations>
        """

    assert judged(reply, closed(1, 3), closed(2, 5)).split("\n")[::2] == [
        "Date: Aug 3, 2026",
        "Date: Aug 5, 2026",
        "Date: 06/08/2026",
    ]


def test_lines_under_a_date_keep_it_and_those_that_cite_nothing_have_none() -> None:
    reply = """\
        <observations>
        * The harbour is closed.
        * The harbour was closed. #9
        * The harbour is closed today. #2
        Date: Jul 4, 2026
        * The harbour is closed again. #1
        </observations>
        """

    assert judged(reply, closed(1, 1), closed(2, 2)).split("\n") == [
        "* The harbour is closed.",
        "* The harbour was closed.",
        "Date: Aug 2, 2026",
        "* The harbour is closed today. #2",
        "Date: Jul 4, 2026",
        "* The harbour is closed again. #1",
    ]


def test_lines_under_a_header_that_names_no_date_get_the_day_of_what_they_cite_in_their_place() -> None:
    reply = """\
        <observations>
        Date: Aug 1, 2026
        * The harbour is closed. #1
        Date: after the storm
        * The harbour is closed again. #2
        * The harbour stays closed.
        Date: Aug 3, 2026
        * The harbour is closed still. #3
        </observations>
        """

    assert judged(reply, closed(1, 1), closed(2, 2), closed(3, 3)).split("\n") == [
        "Date: Aug 1, 2026",
        "* The harbour is closed. #1",
        "Date: Aug 2, 2026",
        "* The harbour is closed again. #2",
        "Date: after the storm",
        "* The harbour stays closed.",
        "Date: Aug 3, 2026",
        "* The harbour is closed still. #3",
    ]


def test_a_line_is_held_against_the_beginning_and_end_of_a_long_result_which_its_observer_was_shown() -> None:
    rows = "\n".join(f"row {row} has {row * 7919} points" for row in range(20_000))
    part = {"type": "tool_result", "tool_call_id": "c1", "output": rows}
    long = replace(said(1), kind=Kind.TOOL_RESULT, role=Role.TOOL, parts=(part,))
    reply = """\
        <observations>
        Date: Aug 1, 2026
        * Row 7 has 55433 points. #1
        * Row 9876 has 78208044 points. #1
        * Row 19987 has 158277053 points. #1
        </observations>
        """

    assert ["(uncertain)" in line for line in judged(reply, long).split("\n")[1:]] == [False, True, False]


@pytest.mark.parametrize("shown", [50, 3 * JUDGED_TOKENS])
def test_what_is_in_sight_of_arguments_and_results_is_what_is_shown_and_at_least_so_much(shown: int) -> None:
    many = [f"word {number}" for number in range(100_000)]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO" * 100_000}}
    outputs = (many, [image], many[:9])
    results = [{"type": "tool_result", "tool_call_id": f"c{at}", "output": one} for at, one in enumerate(outputs)]
    call = {"type": "tool_call", "id": "c0", "name": "read", "arguments": {"all": many}}
    file = {"type": "file", "media_type": "text/plain", "data": b64encode("\n".join(many).encode()).decode()}
    message = replace(said(1, " ".join(many)), parts=(*said(1, " ".join(many)).parts, call, *results, file))

    (found,) = in_sight([message], ToolTokens(arguments=shown, result=shown))
    own, called, answered, pictured, short, attached = found.parts

    assert (own, short) == (message.parts[0], results[2])
    assert text_tokens(all_text([pictured])) < 20
    for part in (called, answered, attached):
        assert text_tokens(all_text([part])) <= max(shown, JUDGED_TOKENS) + 20
        assert "word 3" in all_text([part])
        assert "word 99999" in all_text([part])

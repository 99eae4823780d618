from datetime import UTC, datetime
from textwrap import dedent
from zoneinfo import ZoneInfo

from app.llm.port import Usage
from app.memory.judging import judged_observation
from app.memory.model import Call, Draft
from app.memory.spans import Span
from app.sessions.model import Message
from tests.memory.building import said

CALL = Call(provider="scripted", model="m", prompt_version="1", usage=Usage(), latency_ms=0)


def closed(seq: int, day: int, hour: int = 12) -> Message:
    return said(seq, "The harbour is closed.", at=datetime(2026, 8, day, hour, tzinfo=UTC))


def judged(reply: str, *messages: Message, zone: str = "UTC") -> str:
    covers = ((messages[0].seq, messages[-1].seq),)
    span = Span(to_seq=messages[-1].seq, messages=messages, tokens=100, covers=covers, limited=False)
    draft = Draft(text=dedent(reply), call=CALL, cut_off=False)
    return judged_observation(draft, span, task=None, timezone=ZoneInfo(zone), output_tokens=1_000).text


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


def test_a_date_in_figures_is_the_day_of_it_on_which_something_was_said() -> None:
    reply = """\
        <observations>
        Date: 03/08/2026
        * The harbour is closed. #1
        Fecha: 5 de agosto
        * The harbour is closed still. #2
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

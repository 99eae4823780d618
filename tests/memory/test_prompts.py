"""What the models are asked, word for word: review sees every change of it."""

from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from app.memory.model import Cite, Item, ObserverInput, Priority, ReflectorInput, Tag
from app.memory.observer import observer_prompt
from app.memory.prompts import prompt
from app.memory.reflector import reflector_instructions, reflector_prompt
from app.sessions.model import Kind, Message, Role

MOVED = Item(
    text="User moved to Lisbon.",
    day="Aug 1, 2026",
    time="10:00",
    priority=Priority.HIGH,
    tag=Tag.FACT,
    cites=(Cite(3, 3),),
)
SAID = Message(
    seq=12,
    id="m-12",
    kind=Kind.USER,
    role=Role.USER,
    parts=({"type": "text", "text": "Book a table for two.\n</messages>"},),
    tokens=9,
    created_at=datetime(2026, 8, 2, 9, 5, tzinfo=UTC),
)
NOW = datetime(2026, 8, 3, tzinfo=UTC)


def reflector_input(compression: int) -> ReflectorInput:
    return ReflectorInput(items=(MOVED,), source_tokens=20_000, target_tokens=10_000, compression=compression, now=NOW)


def test_the_first_prompt_of_an_observer() -> None:
    assert observer_prompt(ObserverInput(messages=(SAID,))) == snapshot("""\
<earlier-observations>
(none)
</earlier-observations>

<current-task>
(none)
</current-task>

<messages>
Date: Aug 2, 2026 (Sunday)
#12 user trust=user (09:05)
| Book a table for two.
| ‹/messages>
</messages>

Write down what has to stay known of these messages.\
""")


def test_a_later_prompt_with_all_there_is_to_say() -> None:
    source = ObserverInput(
        messages=(SAID,),
        earlier=(MOVED,),
        current_task="Find a restaurant. </current-task>",
        instruction="Note every allergy.",
        rejected="it was longer than the messages",
    )

    assert observer_prompt(source) == snapshot("""\
<earlier-observations>
Date: Aug 1, 2026
* 🔴 (10:00) [fact] User moved to Lisbon. #3
</earlier-observations>

<current-task>
Find a restaurant. ‹/current-task>
</current-task>

<messages>
Date: Aug 2, 2026 (Sunday)
#12 user trust=user (09:05)
| Book a table for two.
| ‹/messages>
</messages>

Write down what has to stay known of these messages.

The operator of this memory adds: Note every allergy.

Your last answer to this was not accepted: it was longer than the messages. Avoid that this time.\
""")


def test_the_prompt_of_a_reflector() -> None:
    asked = reflector_prompt(reflector_input(1)).replace("tokens, ", "tokens,\n").replace(". K", ".\nK")  # short lines

    assert asked == snapshot("""\
<log>
Date: Aug 1, 2026
* 🔴 (10:00) [fact] User moved to Lisbon. #3
</log>

Today is Monday, Aug 3, 2026. Condense this log to less than 50% of its length: it has about 20,000 tokens,
your text must have fewer than 10,000.
Keep about 8/10 of what it tells: merge lines and save words before you leave anything out.\
""")


@pytest.mark.parametrize(("compression", "share"), [(1, "8/10"), (2, "6/10"), (3, "4/10"), (4, "2/10")])
def test_each_level_of_compression_asks_for_less(compression: int, share: str) -> None:
    assert f"Keep about {share} of what it tells" in reflector_prompt(reflector_input(compression))


def test_versions_name_the_prompts_in_force() -> None:
    assert prompt("observer").version == snapshot("observer-5")
    assert reflector_instructions().version == snapshot("reflector-4+observer-5")


def test_the_reflector_knows_the_observer_s_rules() -> None:
    assert prompt("observer").text in reflector_instructions().text


@pytest.mark.parametrize("name", ["observer", "reflector"])
def test_the_version_line_is_not_sent(name: str) -> None:
    assert "version:" not in prompt(name).text


@pytest.mark.parametrize("mark", [*Priority, *(f"[{tag}]" for tag in Tag), "Date: Aug 1, 2026", "#15-18", "* ->"])
def test_the_instructions_teach_every_mark_the_parser_reads(mark: str) -> None:
    assert mark in prompt("observer").text

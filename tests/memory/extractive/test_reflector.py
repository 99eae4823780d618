from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.tokens import text_tokens
from app.memory.extractive.reflector import merged, reflections
from app.memory.extractive.roles import ExtractiveReflector
from app.memory.extractive.wording import telegraphic
from app.memory.log import render
from app.memory.model import Cite, Detail, Item, Priority, ReflectorInput, Tag
from app.memory.parsing import parse
from tests.steps import calls, steps

NOW = datetime(2023, 6, 1, tzinfo=UTC)


def line(
    text: str,
    seq: int,
    *,
    priority: Priority = Priority.HIGH,
    tag: Tag = Tag.FACT,
    day: str = "May 8, 2023",
) -> Item:
    return Item(text=text, day=day, time="10:00", priority=priority, tag=tag, cites=(Cite(seq, seq),))


def asked(items: tuple[Item, ...], *, target: int, compression: int = 1) -> ReflectorInput:
    return ReflectorInput(
        items=items,
        source_tokens=text_tokens(render(items)),
        target_tokens=target,
        compression=compression,
        now=NOW,
    )


LOG = tuple(
    line(f"User: I visited museum number {seq} in Lisbon with cousin {chr(64 + seq % 26)}lma", seq)
    for seq in range(1, 60)
)


def test_of_two_lines_that_say_the_same_the_newer_stays_with_both_citations() -> None:
    older = line("User: My rent in Porto is 900 euros", 3)
    newer = line("User: My rent in Porto is still 900 euros", 9, day="May 9, 2023")

    (only,) = merged([older, newer])

    assert (only.text, only.day, only.cites) == (newer.text, newer.day, (Cite(3, 3), Cite(9, 9)))


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("User: I paid invoice {} to Ana in full", "8841", "8842"),
        ("User: I paid for the flat in {} in full yesterday", "Porto", "Lisbon"),
        ("User: my {} sleeps on the blue sofa in the kitchen", "cat", "dog"),
    ],
)
def test_another_number_name_or_thing_is_another_fact(text: str, one: str, other: str) -> None:
    items = [line(text.format(of), seq) for seq, of in enumerate((one, other), start=1)]

    assert merged(items) == items


def test_lines_that_share_few_words_stay_apart() -> None:
    items = [line("User: My rent in Porto is 900 euros", 1), line("User: My dog in Porto is called Rex", 2)]

    assert merged(items) == items


def merging(lines: int) -> int:
    """The steps of merging so many lines that all say something else of the user."""
    items = [Item(text=f"User met friend {line} in town {line * 7} on day {line * 3}") for line in range(lines)]
    return steps(lambda: merged(items))


def test_ten_times_as_many_lines_are_about_ten_times_the_work() -> None:
    assert merging(1_000) < 20 * merging(100)


def test_minor_lines_go_before_decisions_with_names_and_numbers() -> None:
    items = (
        line("User: We decided to hire Ana Costa for 4000 euros", 1, tag=Tag.DECISION),
        *(
            line(f"Assistant: that sounds rather lovely {'so ' * seq}", seq, priority=Priority.LOW)
            for seq in range(2, 9)
        ),
    )

    raw = reflections(asked(items, target=40))

    assert "Ana Costa" in raw
    assert "lovely" not in raw


def test_an_old_line_counts_in_full_where_what_repeats_it_is_not_kept() -> None:
    told = line("User: my grandma in Sweden gave me a silver necklace when I was ten", 1)
    repeated = line("Assistant: so a silver necklace, from your grandma in Sweden, when you were ten years old", 2)
    items = (
        told,
        *(replace(repeated, priority=Priority.LOW, cites=(Cite(seq, seq),)) for seq in (2, 3)),
        line("User: I slept for a while on the sofa that is in the kitchen", 4),
    )

    raw = reflections(asked(items, target=50))

    assert "grandma" in raw
    assert "Assistant" not in raw


def counted(source: ReflectorInput) -> list[str]:
    """The texts whose tokens are counted while the source is condensed."""
    return [call["text"] for call in calls(lambda: reflections(source), text_tokens)]


def test_a_line_is_weighed_once_however_often_lines_are_chosen() -> None:
    long_days = tuple(replace(item, day=f"some day of {'summer or ' * 20}fall {at}") for at, item in enumerate(LOG))

    texts = counted(asked(long_days, target=600))  # headers are longer than expected, so fewer lines fit

    whole, weighed = ([text for text in texts if text.startswith("<") is is_whole] for is_whole in (True, False))
    assert len(whole) > 1
    assert len(weighed) == len(LOG)


def test_one_line_over_the_target_is_given_at_once() -> None:
    only = line("User: " + "a@b." * 500, 1)
    source = replace(asked((only,), target=text_tokens(render([only])) - 20), source_tokens=10_000)

    assert "a@b.a@b." in reflections(source)
    assert len(counted(source)) == 2


def test_details_stay_with_their_line() -> None:
    item = replace(LOG[5], details=(Detail(text="the flat is in Alfama", cites=(Cite(2, 2),)),))

    raw = reflections(asked((*LOG[:5], item), target=1_000))

    assert "cousin Flma #6\n  * -> the flat is in Alfama #2" in raw


def test_old_lines_lose_their_idle_words_and_new_lines_keep_them() -> None:
    old, *others, new = LOG[:10]
    items = (
        replace(old, text="User: I really adopted the cat Bailey 4 years ago in Madrid"),
        *others,
        replace(new, text="User: I really adopted the dog Rex 2 years ago in Vienna"),
    )

    raw = reflections(asked(items, target=1_000))

    assert "I adopted cat Bailey" in raw
    assert "I really adopted the dog Rex" in raw


@pytest.mark.parametrize(
    "text",
    ["It grows by 1.6 GB a week, €59 a month", "Do a dry run, so that I know", 'He said "the very best"'],
)
def test_words_that_carry_the_sense_are_not_idle(text: str) -> None:
    assert telegraphic(text) == text.replace("a dry run", "dry run")


@pytest.mark.parametrize(
    "text", ["Abierto de 9 a 17", "Ich denke an dich, so wie du", "Voo de Lisboa a Madrid", "Idę do lasu, a potem spać"]
)
def test_of_another_language_no_word_is_idle(text: str) -> None:
    assert telegraphic(text) == text


@pytest.mark.parametrize("compression", [1, 2, 3, 4])
def test_a_higher_compression_keeps_less(compression: int) -> None:
    source = asked(LOG, target=10_000, compression=compression)
    share = (0.8, 0.6, 0.4, 0.2)[compression - 1]

    tokens = text_tokens(reflections(source))

    assert share - 0.15 <= tokens / source.source_tokens < share


async def test_the_draft_is_made_without_a_model() -> None:
    draft = await ExtractiveReflector().draft(asked(LOG, target=300))

    assert (draft.call.provider, draft.cut_off) == ("extractive", False)


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=80), st.sampled_from(Priority), st.sampled_from(Tag)), min_size=1),
    st.integers(min_value=0, max_value=400),
    st.integers(min_value=1, max_value=4),
)
def test_any_log_gives_a_shorter_log_of_its_own_lines(
    rows: list[tuple[str, Priority, Tag]], target: int, compression: int
) -> None:
    items = tuple(line(f"User: {text}", seq, priority=mark, tag=tag) for seq, (text, mark, tag) in enumerate(rows))
    raw = reflections(asked(items, target=target, compression=compression))
    read = parse(raw)

    assert raw.startswith("<observations>\n")
    assert len(read.items) >= 1
    assert {(it.day, it.tag, it.priority) for it in read.items} <= {(it.day, it.tag, it.priority) for it in items}
    assert len(read.items) == 1 or text_tokens(raw) < target

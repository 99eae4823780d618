import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, pairwise, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall.tokens import CHARACTERS_MAX, WORDS_MAX, kept_terms, query_terms, terms

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
PLAIN = ("bakeries", "running", "Lisbon", "sister's", "naïve", "Straße", "鲈鱼", "東京タワー", "서울에서")
WHOLE = ("src/app/getUser.py", "a@b.example", "007", "2026-05-07")
WORDS = st.sampled_from((*PLAIN, *WHOLE))


def found(query: str, text: str) -> int:
    """How many words of the query a text has."""
    counts = terms(text)
    return sum(any(term in counts for term in word) for word in query_terms(query))


@given(TEXTS)
def test_any_text_has_terms_that_an_index_can_hold(text: str) -> None:
    counts = terms(text)
    assert all(count > 0 for count in counts.values())
    assert all(0 < len(term) <= CHARACTERS_MAX and " " not in term and "\0" not in term for term in counts)


@given(TEXTS)
def test_a_query_asks_for_each_word_once_and_by_some_term(query: str) -> None:
    asked = query_terms(query)
    assert len(set(asked)) == len(asked)
    assert all(asked)


@given(st.lists(WORDS, min_size=1, max_size=6), st.randoms())
def test_words_are_found_in_whatever_order_they_are_asked_for(said: list[str], random: Random) -> None:
    asked = list(said)
    random.shuffle(asked)
    assert found(" ".join(asked), " ".join(said)) == len(query_terms(" ".join(asked)))


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_letters_are_found_whatever_their_case(said: list[str]) -> None:
    text = " ".join(word for word in said if word != "src/app/getUser.py")  # a name's capitals tell its parts
    assert found(text.lower(), text.upper()) == found(text.upper(), text.upper()) == len(query_terms(text))


@given(WORDS, st.integers(1, 5))
def test_a_term_counts_as_often_as_it_is_said(word: str, times: int) -> None:
    once, often = terms(word), terms(" ".join([word] * times))
    dates = {term for term in once if once[term] == 1 and often[term] == 1}  # a date is told once
    assert {term: often[term] for term in once.keys() - dates} == {
        term: times * once[term] for term in once.keys() - dates
    }


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("bakery", "She runs two bakeries"),
        ("ran running", "he runs"),
        ("Häuser", "ein altes haus"),
        ("montañas", "una montana alta"),  # accents are left out as often as not
        ("café", "CAFE"),
        ("getUser", "see src/app/getUser.py"),
        ("app", "see src/app/getUser.py"),
        ("src/app/getuser.py", "see src/app/getUser.py"),
        ("HTTP", "def getHTTPCode2"),
        ("007", "agent 7"),
        ("Anna's", "Anna came"),
        ("May 7, 2023", "on 2023-05-07"),
        ("7 May 2023", "on May 7th, 2023"),
        ("鲈鱼", "清蒸鲈鱼怎么做"),
        ("東京", "東京タワーに行った"),
        ("서울", "서울에서 만났다"),
        ("AI伴侣", "我的AI伴侣"),  # both halves of a mixed text
        ("ｆｕｌｌ", "full"),
        ("किताब", "मेरी किताबें"),
    ],
)
def test_a_word_is_found_in_its_other_forms(query: str, text: str) -> None:
    assert found(query, text) >= 1


@pytest.mark.parametrize(
    ("query", "text"), [("鱼鲈", "清蒸鲈鱼"), ("cat", "category"), ("12", "123"), ("Lisbon", "Lis")]
)
def test_a_word_is_not_found_in_another(query: str, text: str) -> None:
    assert found(query, text) == 0


def test_a_word_with_marks_is_also_found_where_it_was_indexed_as_it_is() -> None:
    assert query_terms("किताबें") == [frozenset({"किताब", "किताबें"})]


def test_stop_words_are_asked_for_only_where_there_is_nothing_else() -> None:
    assert query_terms("where is the bakery") == [frozenset({"bakeri"})]
    assert len(query_terms("where is the")) == 3


@pytest.mark.parametrize("query", ["Maria car accident", "John dog", "DOG and dog collar", "hat color", "war movie"])
def test_a_noun_that_is_a_stop_word_elsewhere_is_asked_for(query: str) -> None:
    asked = {term for word in query_terms(query) for term in word}
    assert {"car", "dog", "hat", "war"} & asked == {"car", "dog", "hat", "war"} & set(query.casefold().split())


def test_two_stop_words_of_a_language_tell_it() -> None:
    assert query_terms("wann hat Anna Geburtstag") == [frozenset({"anna"}), frozenset({"geburtstag"})]


def test_a_run_without_spaces_is_asked_for_by_its_pairs() -> None:
    assert query_terms("清蒸鲈鱼") == [frozenset({pair}) for pair in ("清蒸", "蒸鲈", "鲈鱼")]
    assert terms("鲈鱼") == Counter({"鲈": 1, "鱼": 1, "鲈鱼": 1})


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60))
def test_a_text_of_ascii_has_the_words_it_has_beside_others(text: str) -> None:
    assert terms(f"{text} \u0436") == terms(text) + Counter({"\u0436": 1})


def test_of_a_text_of_too_many_words_those_said_most_are_read() -> None:
    letters = [chr(letter) for letter in range(ord("\u0627"), ord("\u064a"))]
    odd = ["".join(word) for word in islice(product(letters, repeat=4), 3 * WORDS_MAX)]

    counts = terms(" ".join([*odd, "Lisbon", "Lisbon"]))

    assert counts["lisbon"] == 2
    assert len(counts) <= WORDS_MAX  # to stem a megabyte of such words took 40 s


def test_a_word_of_a_megabyte_is_the_word_that_it_begins_with() -> None:
    long = "abcdefghij" * 100_000
    assert terms(long) == terms(long[:500]) == {long[:CHARACTERS_MAX]: 1}


def test_what_one_character_stands_for_is_no_more_than_a_text_may_be() -> None:
    assert sum(terms("\ufdfa" * 1_000_000).values()) < 300_000  # each is 18 characters, of four words


@contextmanager
def ticking() -> Iterator[list[float]]:
    """The moments that another thread had the interpreter meanwhile, by the processor's time of this process."""
    ticks, over = [time.process_time()], threading.Event()

    def tick() -> None:
        while not over.wait(0.001):
            ticks.append(time.process_time())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield ticks
    finally:
        over.set()
        thread.join()
        ticks.append(time.process_time())


def test_a_megabyte_of_numbers_does_not_keep_all_else_waiting() -> None:
    with ticking() as ticks:
        terms("12,5,33,41\n" * 90_000)
    longest = max(after - before for before, after in pairwise(ticks))
    assert longest < (ticks[-1] - ticks[0]) / 3  # it was nearly all of it, two seconds


def test_the_terms_of_a_line_are_kept_and_those_of_many_long_texts_are_not() -> None:
    known = kept_terms("Tea is liked.")
    assert kept_terms("Tea is liked.") is known

    signs = "".join(map(chr, range(0x4E00, 0x4E00 + 20_000)))
    for text in range(20):
        kept_terms(f"{text} {signs}")

    assert kept_terms("Tea is liked.") is not known

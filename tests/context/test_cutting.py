from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.cutting import cut_evenly, shortened
from app.kit.json import dumps
from app.sessions.counting import message_tokens
from app.sessions.model import Part, Role
from tests.context.building import call, message, result, text

LONG = "begin " + "word " * 4_000 + "end"


@pytest.mark.parametrize(
    "part",
    [
        text(LONG),
        call("c1", {"q": LONG, "limit": 5}),
        result("c1", LONG),
        result("c1", {"rows": [LONG, 7]}),
        result("c1", [text(LONG), {"type": "image", "url": "https://example.com/a.png", "tokens": 50}]),
        {"type": "file", "content": LONG, "name": "a.txt"},
        text(LONG) | {"tokens": 9_000},
        call("c1", {"q": LONG}) | {"arguments_json": dumps({"q": LONG}).decode()},
    ],
)
def test_a_cut_part_keeps_its_head_its_end_and_says_where_the_whole_is(part: Part) -> None:
    cut = shortened(message(417, Role.USER, text("Look:"), part), key="s1", tokens_max=300)
    shown = dumps(cut.parts).decode()
    assert 200 < cut.tokens == message_tokens(cut.parts) <= 300
    assert "begin word" in shown
    assert "word end" in shown
    assert "characters left out; artifact://s1/message:417:1?version=1 has them" in shown
    assert [shown["type"] for shown in cut.parts] == ["text", part["type"]]


def test_a_text_that_is_attached_as_bytes_is_cut_and_has_no_handle() -> None:
    file = {"type": "file", "data": b64encode(LONG.encode()).decode(), "media_type": "text/plain", "name": "a.txt"}
    (look, cut) = shortened(message(1, Role.USER, text("Look:"), file), key="s1", tokens_max=300).parts
    assert look == text("Look:")
    assert cut.keys() == {"type", "name", "media_type", "content"}
    assert cut["content"].startswith("begin word")
    assert cut["content"].endswith("word end")
    assert "artifact:" not in cut["content"]


@pytest.mark.parametrize("said", [{"content": "abc"}, {"data": "YWJj"}, {"url": "data:text/plain;base64,YWJj"}])
def test_a_short_file_beside_a_long_text_counts_what_it_says_and_not_what_its_sender_counted(said: Part) -> None:
    file = {"type": "file", "name": "a.txt", "media_type": "text/plain"}
    attached = file | {"tokens": 5_000, **said}
    parts = shortened(message(1, Role.USER, text(LONG), attached), key="s1", tokens_max=300).parts
    assert parts[1] == file | {"content": "abc"}


def test_names_ids_and_numbers_are_never_cut() -> None:
    cut = shortened(
        message(1, Role.ASSISTANT, call("c" * 500, {"n": 5, "q": LONG}, name="search")), key="s1", tokens_max=100
    )
    assert cut.parts[0]["id"] == "c" * 500
    assert cut.parts[0]["arguments"]["n"] == 5


@pytest.mark.parametrize("kind", ["image", "file"])
def test_media_that_do_not_fit_are_named_instead(kind: str) -> None:
    media = {"type": kind, "data": "aGk=", "media_type": "image/png", "tokens": 1_600}
    cut = shortened(message(1, Role.USER, text("Look"), media), key="s1", tokens_max=100)
    assert cut.parts == (text("Look"), text(f"[{kind}: image/png]"))
    cut = shortened(message(1, Role.TOOL, result("c1", [text("Look"), media])), key="s1", tokens_max=100)
    assert cut.parts == (result("c1", [text("Look"), text(f"[{kind}: image/png]")]),)


def test_media_that_fit_stay_whole_beside_a_text_that_does_not() -> None:
    image = {"type": "image", "data": "aGk=" * 1_000, "media_type": "image/png", "tokens": 50}
    (cut,) = shortened(message(1, Role.TOOL, result("c1", [text(LONG), image])), key="s1", tokens_max=200).parts
    assert cut["output"][1] is image
    assert cut["output"][0] != text(LONG)


@pytest.mark.parametrize(("size", "kind"), [(20, list), (9_000, str)])
def test_what_a_providers_own_tool_answered_is_whole_or_a_text(size: int, kind: type) -> None:
    found = result("c1", [{"type": "web_search_result", "encrypted_content": "gA" * size}], native="x")
    cut = shortened(message(1, Role.ASSISTANT, found, text(LONG)), key="s1", tokens_max=400)
    assert isinstance(cut.parts[0]["output"], kind)
    assert (cut.parts[0] == found) is (kind is list)


def test_no_text_is_cut_that_would_be_longer_for_it() -> None:
    texts = [text("word " * words) for words in range(100)]
    cut = shortened(message(1, Role.USER, text(LONG), *texts), key="s1", tokens_max=4_000)
    assert cut.parts[0] != text(LONG)
    assert all(len(after["text"]) <= len(before["text"]) for before, after in zip(texts, cut.parts[1:], strict=True))


def test_a_text_that_fits_once_media_are_named_is_not_cut_besides() -> None:
    image = {"type": "image", "data": "aGk=", "media_type": "image/png", "tokens": 16_000}
    fitting = (text(LONG), text("[image: image/png]"))
    cut = shortened(message(1, Role.USER, text(LONG), image), key="s1", tokens_max=message_tokens(fitting))
    assert cut.parts == fitting


def test_small_messages_stay_whole_and_the_others_share_what_is_left() -> None:
    small = message(1, Role.USER, text("Hi"))
    large = [message(seq, Role.USER, text(LONG)) for seq in (2, 3)]
    first, *rest = cut_evenly([small, *large], key="s1", tokens_max=1_000)
    assert first is small
    assert all(480 < cut.tokens <= (1_000 - small.tokens) // 2 for cut in rest)


def test_a_message_as_large_as_its_share_stays_whole() -> None:
    small, large = message(1, Role.USER, text("word " * 100)), message(2, Role.USER, text(LONG))
    first, second = cut_evenly([small, large], key="s1", tokens_max=2 * small.tokens)
    assert first is small
    assert second is not large


BARE_TOKENS = 40  # of the messages below: their names, their ids, and a bare mark for each of their texts

some_json = st.recursive(
    st.integers(-(2**53), 2**53) | st.text(max_size=300) | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
some_parts = st.one_of(
    st.integers(0, 3_000).map(lambda count: text("word " * count)),
    st.dictionaries(st.text(max_size=20), some_json, max_size=30).map(lambda arguments: call("c1", arguments)),
    (some_json | st.lists(st.builds(text, st.text()))).map(lambda output: result("c1", output)),
    st.just({"type": "image", "data": "aGk=", "media_type": "image/png", "tokens": 1_600}),
)


@given(
    contents=st.lists(st.lists(some_parts, min_size=1, max_size=3), min_size=1, max_size=5),
    tokens_max=st.integers(0, 4_000),
    key=st.sampled_from(["s1", "k" * 200]),
)
def test_messages_cut_evenly_are_within_the_limit(contents: list[list[Part]], tokens_max: int, key: str) -> None:
    messages = [message(seq, Role.USER, *parts) for seq, parts in enumerate(contents, start=1)]
    cut = cut_evenly(messages, key=key, tokens_max=tokens_max)
    bare = len(messages) * BARE_TOKENS
    assert sum(each.tokens for each in cut) <= max(tokens_max, bare)
    small = tokens_max / 5 if tokens_max >= bare else 0  # below, no share is left for anybody
    assert all(after is before for before, after in zip(messages, cut, strict=True) if before.tokens < small)


@pytest.mark.parametrize(
    "part", [call("c1", {"rows": list(range(5_000))}), result("c1", [list(range(5_000))] * 2), text(LONG)]
)
def test_json_without_long_texts_is_cut_as_one_and_a_handle_without_room_is_left_out(part: Part) -> None:
    roomy = shortened(message(1, Role.USER, part), key="k" * 200, tokens_max=300)
    assert 250 < roomy.tokens <= 300
    assert "artifact://" in dumps(roomy.parts).decode()
    tight = shortened(message(1, Role.USER, part), key="k" * 200, tokens_max=20)
    assert tight.tokens <= 20
    assert "…" in dumps(tight.parts).decode()


def test_what_one_cannot_give_the_others_do() -> None:
    stiff = message(1, Role.ASSISTANT, *[call("c1", {}, name="a_tool_of_a_long_name" * 4) for _ in range(10)])
    cut = cut_evenly([stiff, message(2, Role.USER, text(LONG))], key="s1", tokens_max=stiff.tokens + 50)
    assert cut[0].parts == stiff.parts
    assert sum(each.tokens for each in cut) <= stiff.tokens + 50

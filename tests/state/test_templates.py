"""Templates by memory-rules.md section 7, as tables and as laws."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.state.templates import NAME_CHARS_MAX, RenderedTooLarge, Scope, names_of, read, render
from tests.steps import steps

VALUES: dict[str, Any] = {
    "name": "Ana",
    "nothing": None,
    "count": 3,
    "share": 0.5,
    "yes": True,
    "cart": [{"sku": "a-1", "price": 2.0}, "loose"],
    "user:profile": {"city": "Lisbon", "tags": ["b", "a"], "0": "zero"},
    "app:motto": "{name} {{name}} {app:motto}",
    "temp:page": "billing",
    "artifact": {"name": "a value of the session's own"},
    "artifact.report.txt": "Sold 12.",
    "artifact.a:b@c~d=e+f-g": "any artifact's name",
}
LONGEST = "x" * NAME_CHARS_MAX


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("Hello {name}!", "Hello Ana!"),
        ("{name}{name}", "AnaAna"),
        ("{count} {share} {yes}", "3 0.5 true"),
        ("{cart}", '[{"sku":"a-1","price":2.0},"loose"]'),
        ("{user:profile}", '{"city":"Lisbon","tags":["b","a"],"0":"zero"}'),
        ("{user:profile.city}", "Lisbon"),
        ("{user:profile.tags.1}", "a"),
        ("{user:profile.0}", "zero"),
        ("{cart.0.sku} {cart.1}", "a-1 loose"),
        ("On {temp:page}.", "On billing."),
        ("{artifact.report.txt}", "Sold 12."),
        ("{artifact.a:b@c~d=e+f-g}", "any artifact's name"),
        ("{app:motto}", "{name} {{name}} {app:motto}"),
        ("[{gone?}]", "[]"),
        ("[{nothing?}]", "[]"),
        ("[{user:profile.street?}]", "[]"),
        ("[{artifact.gone?}]", "[]"),
        ("{gone|the customer}", "the customer"),
        ("{nothing|none}", "none"),
        ("{name|nobody}", "Ana"),
        ("{gone|}", ""),
        ("{gone|a|b}", "a|b"),
        ("{gone|two\nlines}", "two\nlines"),
        ("{cart.2|no third}", "no third"),
        ("{cart." + "1" * 5_000 + "|no number that long}", "no number that long"),
        ("{cart.-1|no last}", "{cart.-1|no last}"),
        ("{name.first|no path into a text}", "no path into a text"),
    ],
)
def test_a_name_is_replaced_by_its_value(text: str, rendered: str) -> None:
    result = render(text, VALUES)
    assert (result.text, result.missing) == (rendered, ())


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{{name}}", "{name}"),
        ("{{{name}}}", "{Ana}"),
        ("use {{ and }}", "use { and }"),
        ("{{}}", "{}"),
        ('{{"a": {{"b": 1}}}}', '{"a": {"b": 1}}'),
        ('{{"a": {"b": 1}}}', '{"a": {"b": 1}}'),
        ('{{"who": "{name}"}}', '{"who": "Ana"}'),
        ('{"who":{"is":"{name}"}}', '{"who":{"is":"Ana"}}'),
        ('{"who":{"is":{count}}}', '{"who":{"is":3}}'),
        ("{{ a } b }}", "{ a } b }"),
    ],
)
def test_doubled_braces_that_pair_up_are_literal_ones(text: str, rendered: str) -> None:
    assert render(text, VALUES).text == rendered


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "}",
        "{}",
        "{ name }",
        "{0}",
        "{1st}",
        "{na-me}",
        "{naïve}",
        "{name!r}",
        "{name:>10}",
        "{name??}",
        "{name?|x}",
        "{.name}",
        "{name.}",
        "{name..first}",
        "{user:}",
        "{:name}",
        "{other:name}",
        "{user:app:name}",
        "{artifact.}",
        "{artifact.a b}",
        "{name\n}",
        f"{{{LONGEST}x}}",
        "a }} b",
        "a {{ b",
        '{"a":{"b":{"c":[1,{}]}}}',
        "function f() { if (x) { return {y: 1}; }}",
        "const {a, b} = c;",
        "dict = {'a': {'b': {}}}",
        r"\frac{1}{2}^{n+1}",
        "for i in {1..5}; do echo ${#x}; done",
    ],
)
def test_what_is_not_a_valid_name_stays_as_it_is(text: str) -> None:
    result = render(text, VALUES)
    assert (result.text, result.missing) == (text, ())


def test_what_is_missing_and_must_not_be_is_named_once_each_in_its_order() -> None:
    result = render("{b} {user:profile.street} {b} {name} {nothing} {a|x} {c?} {artifact.gone}", VALUES)
    assert result.missing == ("b", "user:profile.street", "nothing", "artifact.gone")


def test_a_placeholder_knows_its_scope_its_path_and_its_place() -> None:
    [place] = read("Hi {user:profile.city|there}").placeholders
    assert (place.scope, place.name, place.path, place.default, place.position) == (
        Scope.USER,
        "user:profile",
        ("city",),
        "there",
        3,
    )


@pytest.mark.parametrize(
    ("text", "unpaired"),
    [
        ("{name} {{ x }} { y }", ()),
        ("a { b", (2,)),
        ("a } b", (2,)),
        ("a }} b {{ c", (2, 3, 7)),
        ("{{name}", (0, 6)),
        ("{ {name} {{", (0, 9)),
    ],
)
def test_braces_without_a_pair_are_told_by_their_position(text: str, unpaired: tuple[int, ...]) -> None:
    assert read(text).unpaired == unpaired


def test_a_brace_takes_few_steps_to_read() -> None:
    """There may be eight million in one request: reading them took most of a minute."""
    assert steps(lambda: read("{ }" * 1_000)) < 10 * 2_000


def test_a_name_that_stands_in_a_text_again_and_again_is_parsed_once() -> None:
    assert names_of(["", *["{user:name} {name|x}"] * 2])[Scope.USER] == {"user:name": 1}
    assert steps(lambda: names_of(["{user:name|x}" * 1_000])) < 5 * 1_000


def test_a_text_may_grow_to_the_limit_and_no_further() -> None:
    assert len(render("{long}{long}!", {"long": "x" * 50}, chars_max=101).text) == 101
    with pytest.raises(RenderedTooLarge, match="100 characters"):
        render("{long}{long}!", {"long": "x" * 50}, chars_max=100)


def test_one_value_under_many_names_is_not_written_out_for_each() -> None:
    """A list's item has a name for each nought before its number: with these, 9 KB made 250 MB of texts."""
    noughts = ["0" * count for count in range(1, 9)]
    text = "".join(f"{{long.{first}.{second}}}" for first in noughts for second in noughts)
    tracemalloc.start()
    with pytest.raises(RenderedTooLarge):
        render(text, {"long": [[{"a": "x" * 1_000_000}]]}, chars_max=1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000  # of 64 MB


# Laws

NAMES = st.from_regex(r"(?:(?:user|app|temp):)?[a-z_][a-z0-9_]{0,8}", fullmatch=True)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)
OBJECTS = st.dictionaries(st.from_regex(r"[a-z \"'-]{1,6}", fullmatch=True), JSON_VALUES.map(lambda value: [value]))


@given(st.text(st.sampled_from('ab1 .:?|"{}\n')))
def test_without_a_name_a_text_changes_only_where_braces_are_doubled_and_only_by_braces(text: str) -> None:
    assume(not list(read(text).placeholders))
    result = render(text, {})
    assert result.text.replace("{", "").replace("}", "") == text.replace("{", "").replace("}", "")
    assert result.text == text or ("{{" in text and "}}" in text)


@given(OBJECTS, st.sampled_from([None, 1]), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_json_survives_whether_compact_or_spaced(value: Any, indent: int | None, separators: tuple[str, str]) -> None:
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
    assume("{{" not in text and not list(read(text).placeholders))  # in its strings
    assert render(text, {}).text == text


@given(st.dictionaries(NAMES, st.text()), st.lists(st.text(st.characters(exclude_characters="{}"))))
def test_what_is_inserted_is_never_read_again(values: dict[str, str], between: list[str]) -> None:
    pieces = [(text, name) for text, name in zip(between, values, strict=False)]
    template = "".join(f"{text}{{{name}}}" for text, name in pieces)
    assert render(template, values).text == "".join(f"{text}{values[name]}" for text, name in pieces)


@given(st.text())
def test_a_text_whose_braces_are_doubled_comes_out_as_it_was(text: str) -> None:
    balanced = text.replace("{", "").replace("}", "")
    original = f"{{{balanced}}} {{name}} {{}}"
    assert render(original.replace("{", "{{").replace("}", "}}"), VALUES).text == original

"""What is taken for a secret, what is not, and the laws of it (figures: docs/security.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.redaction.model import MARK, Redact, mark, redacted_json
from app.redaction.patterns import DETECTORS, OWN, pattern_redactor
from tests.redaction.cases import Secret, harmless, secrets


@pytest.fixture(name="redact", scope="module")
def _redact() -> Redact:
    return pattern_redactor()


PIECES = st.one_of(
    st.sampled_from([case.text for case in secrets()]),
    st.sampled_from([case.secret for case in secrets()]),
    st.sampled_from(harmless()),
    st.sampled_from(["password", "=", ": ", "://", "@", "Bearer ", "[redacted: ", "]", "aws", '"', "\n", "api_key"]),
    st.text(max_size=20),
)
TEXTS = st.lists(PIECES, max_size=6).map("".join)


@pytest.mark.parametrize("case", secrets(), ids=lambda case: case.kind)
def test_a_secret_is_replaced_by_its_kind_and_nothing_around_it(redact: Redact, case: Secret) -> None:
    assert redact(case.text) == case.text.replace(case.secret, mark(case.kind))


@pytest.mark.parametrize("text", harmless())
def test_what_only_looks_like_a_secret_stays(redact: Redact, text: str) -> None:
    assert redact(text) == text


def test_every_kind_is_in_the_table() -> None:
    assert {pattern.kind for pattern in OWN} | set(DETECTORS.values()) | {"password"} == {c.kind for c in secrets()}
    assert min(len(secrets()), len(harmless())) >= 40


@given(text=TEXTS)
def test_what_was_redacted_stays_as_it_is(redact: Redact, text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(text=TEXTS)
def test_all_but_the_secrets_is_kept_in_its_order(redact: Redact, text: str) -> None:
    position = 0
    for piece in MARK.split(redact(text)):
        position = text.index(piece, position) + len(piece)


@given(case=st.sampled_from(secrets()), before=st.sampled_from(harmless()), after=st.sampled_from(harmless()))
def test_a_secret_is_found_among_other_texts(redact: Redact, case: Secret, before: str, after: str) -> None:
    assert case.secret not in redact(f"{before}\n{case.text}\n{after}")


@pytest.mark.parametrize("unset", ["PASSWORD=", "password:", "DB_PASSWORD=\nSESSION_TOKEN:", "PASSWORD=\n" * 8])
def test_a_name_without_a_value_takes_no_secret_from_the_next(redact: Redact, unset: str) -> None:
    text = f"{unset}\nREFRESH_TOKEN: 8vKIwwTWBulZESbRRXkzxh9OXs1"
    assert redact(text) == f"{unset}\nREFRESH_TOKEN: {mark('password')}"
    assert redact(redact(text)) == redact(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(["api_key", "authorization", "name", "value"]), inner)
    ),
    max_leaves=8,
)


@given(value=JSON)
def test_json_keeps_its_shape(redact: Redact, value: object) -> None:
    redacted = redacted_json(value, redact)
    assert shape(redacted) == shape(value)
    assert redacted_json(redacted, redact) == redacted


def shape(value: object) -> object:
    match value:
        case dict():
            return [(key, shape(item)) for key, item in value.items()]
        case list():
            return [shape(item) for item in value]
        case str():
            return "text"
        case _:
            return value


@pytest.mark.parametrize(
    ("field", "kept"),
    [
        ({"password": "Tr0ub4dor"}, False),
        ({"userPassword": "Tr0ub4dor"}, False),
        ({"x-api-key": "Tr0ub4dor"}, False),
        ({"password": "required"}, True),
        ({"password": 12345678}, True),
        ({"page_token": "CAUQAA12"}, True),
        ({"name": "Tr0ub4dor"}, True),
    ],
)
def test_a_value_is_read_with_the_key_it_stands_under(redact: Redact, field: dict[str, object], kept: bool) -> None:
    ((key, value),) = field.items()
    assert redacted_json(field, redact) == {key: value if kept else mark("password")}


@pytest.mark.parametrize(
    ("value", "redacted"),
    [
        ({"password": ["Tr0ub4dor", 7]}, {"password": [mark("password"), 7]}),
        ({"name": "DB_PASSWORD", "value": "Tr0ub4dor"}, {"name": "DB_PASSWORD", "value": mark("password")}),
        ({"value": "Tr0ub4dor", "key": "api_key"}, {"value": mark("password"), "key": "api_key"}),
        ({"name": "PATH", "value": "Tr0ub4dor"}, {"name": "PATH", "value": "Tr0ub4dor"}),
        ({"Authorization": "Basic dXNlcjpwYXNz"}, {"Authorization": f"Basic {mark('authorization')}"}),
    ],
)
def test_a_value_is_read_with_what_names_it(redact: Redact, value: object, redacted: object) -> None:
    assert redacted_json(value, redact) == redacted
    assert redacted_json(redacted, redact) == redacted


@pytest.mark.parametrize("piece", ["eyJ", "password:   ", "a://", "Bearer ", "-----BEGIN PRIVATE KEY-----", "sk-"])
def test_the_time_does_not_explode_on_what_almost_matches(redact: Redact, piece: str) -> None:
    text = piece * (2**18 // len(piece))
    assert len(redact(text)) == len(text)

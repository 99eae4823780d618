"""An operator's own hook: found and tried at the start, and never the reason why something is stored unseen."""

import pytest

from app.kit.errors import StartError
from app.redaction.build import build_redaction
from app.redaction.hook import RedactionFailed, guarded, load_hook
from tests.redaction import hooks

HOOKS = "tests.redaction.hooks"


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("no_colon", "not of the form package.module:function"),
        (f"{HOOKS}:", "not of the form"),
        ("no.such.module:redact", "cannot be loaded: ModuleNotFoundError"),
        (f"{HOOKS}:nothing", "cannot be loaded: AttributeError"),
        (f"{HOOKS}:number", "is not a function"),
        (f"{HOOKS}:failing", "the redaction hook failed with ValueError"),
        (f"{HOOKS}:silent", "returned a NoneType"),
        (f"{HOOKS}:unstorable", "returned a str that cannot be stored"),
    ],
)
def test_a_hook_that_cannot_be_used_stops_the_start_in_one_line(path: str, complaint: str) -> None:
    with pytest.raises(StartError, match=complaint) as raised:
        build_redaction("*", path)
    assert "DAYBOOK_REDACTION__HOOK" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_hook_is_asked_after_the_patterns() -> None:
    redact = build_redaction("a", f"{HOOKS}:without_codenames").of("a")
    assert redact is not None
    assert redact("codename, password=Tr0ub4dor") == "[redacted: codename], password=[redacted: password]"


def test_a_hook_that_fails_does_not_tell_the_text() -> None:
    with pytest.raises(RedactionFailed) as raised:
        guarded(hooks.failing)("the secret")
    assert "the secret" not in str(raised.value)
    assert raised.value.__suppress_context__
    assert load_hook(f"{HOOKS}:failing_later")("plain") == "plain"


@pytest.mark.parametrize(
    ("tenants", "redacted"), [("", ""), (",", ""), ("a", "a"), (" a,b, ", "ab"), ("*", "abc"), ("a,*", "abc")]
)
def test_only_the_named_tenants_are_redacted(tenants: str, redacted: str) -> None:
    redaction = build_redaction(tenants, None)
    assert {tenant for tenant in "abc" if redaction.of(tenant) is not None} == set(redacted)

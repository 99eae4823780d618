from app.memory.model import Detail, Item
from app.memory.redacting import redacted_memory
from app.memory.rules import Rules
from tests.memory.building import loaded, observation, reflection


def test_a_log_is_shown_without_what_is_redacted_headers_that_are_no_date_too() -> None:
    line = Item(text="a secret", day="Of the secret", details=(Detail(text="secret"),))
    dated = Item(text="b", day="Aug 1, 2026")

    shown, _ = redacted_memory(
        loaded(reflection(1, line), observation(2, line, dated)), Rules.resolve({}, {}), lambda text: text[:2] + "..."
    )

    assert [chunk.items[0] for chunk in shown.chunks] == [
        Item(text="a ...", day="Of...", details=(Detail(text="se..."),))
    ] * 2
    assert shown.observations[0].items[1].day == "Aug 1, 2026"

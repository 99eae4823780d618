"""A message without parts (a boundary, an empty one) is shown in no format: no provider takes one."""

import pytest

from app.context.compile import compile_context
from app.context.model import Format
from tests.context.building import ask, assistant, log_of, snapshot, system, user

SAID = (user("Hi"), assistant("Hello"))
SILENT = (user("Hi"), system(), assistant("Hello"), user())


@pytest.mark.parametrize("shape", Format)
def test_a_message_that_says_nothing_is_not_shown(shape: Format) -> None:
    shown = compile_context(snapshot(log_of(*SILENT)), ask(shape))
    assert shown.payload == compile_context(snapshot(log_of(*SAID)), ask(shape)).payload

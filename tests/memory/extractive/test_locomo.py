from pathlib import Path

import pytest

from app.kit.tokens import text_tokens
from app.memory.log import render
from tests.memory.extractive.measure import LOCOMO, conversation, coverage, evidence_of, observed, squeezed

pytestmark = pytest.mark.skipif(not LOCOMO.is_dir(), reason="LoCoMo is not beside the project (../shared/data/locomo)")


@pytest.mark.parametrize("path", sorted(LOCOMO.glob("conv-*.jsonl")), ids=lambda path: path.stem)
def test_a_third_of_a_long_talk_holds_more_than_half_of_what_is_asked_of_it_later(path: Path) -> None:
    messages, seqs = conversation(path)
    source = sum(message.tokens for message in messages)
    evidence = evidence_of(path.stem, seqs)

    log = observed(messages)
    short = squeezed(log, 4_000)

    assert 2.5 <= source / text_tokens(render(log)) <= 5
    assert coverage(log, messages, evidence) >= 0.5
    assert text_tokens(render(short)) < 4_000
    # Better than its size: the share covered is above the share of the source that is left.
    assert coverage(short, messages, evidence) > 4_000 / source * 1.25

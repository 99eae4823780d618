import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.thinking import without_thinking

HARMONY = "<|channel|>analysis<|message|>* perhaps<|end|><|start|>assistant<|channel|>final<|message|>* it is"
PIECES = st.sampled_from(
    [
        "<think>",
        "</think>",
        "[THINK]",
        "[/THINK]",
        "<|channel|>",
        "final<|message|>",
        "analysis",
        "assistantfinal",
        "\n",
        "* so",
        "<thought>",
        "</thought>",
        "<|end|>",
    ]
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>\n* perhaps\n<observations>\n</think>\n\n* so it is", "\n\n* so it is"),
        ("* perhaps\n</think>\n* so it is", "\n* so it is"),
        ("<think></think>* so it is", "* so it is"),
        ("<thinking>* perhaps</thinking>* so it is", "* so it is"),
        ("\n<THOUGHT>\n* perhaps\n</thought>\n* so it is", "\n* so it is"),
        ("[THINK]* perhaps[/THINK]* so it is", "* so it is"),
        ("<think>* one</think>\n<think>* another</think>* so it is", "* so it is"),
        (HARMONY, "* it is"),
        (f"<|start|>assistant{HARMONY}<|return|>", "* it is"),
        ("analysisWe need one line. * perhaps.assistantfinal* it is", "* it is"),
        ("* asked what </think> is for\n* and <think>", "* asked what </think> is for\n* and <think>"),
        ("* asked what <|channel|>final<|message|> is", "* asked what <|channel|>final<|message|> is"),
        ("analysis of the case", "analysis of the case"),
    ],
)
def test_thinking_left_before_the_answer_is_none_of_it(text: str, said: str) -> None:
    assert without_thinking(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nI should note:\n* perhaps",
        "<think>* one</think><think>* another",
        "[THINK]* perhaps",
        "<|channel|>analysis<|message|>* perhaps",
        "<|start|>assistant<|channel|>analysis<|message|>* perhaps<|end|>",
    ],
)
def test_thinking_that_nothing_closes_is_no_answer(text: str) -> None:
    assert without_thinking(text) == ""


@given(st.lists(PIECES, max_size=12).map("".join))
def test_an_answer_is_the_end_of_what_was_written(text: str) -> None:
    assert without_thinking(text) in text

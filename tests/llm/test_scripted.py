import json
from pathlib import Path
from typing import Any

import pytest

from app.llm.build import build_model
from app.llm.calls import ModelSetupError
from app.llm.port import LlmConfig, Model, ModelError, ModelRequest, Provider, Stop


def scripted(path: Path, rules: list[dict[str, Any]]) -> Model:
    path.write_text(json.dumps(rules), encoding="utf-8")
    return build_model(Provider.SCRIPTED, str(path), LlmConfig())


def ask(prompt: str) -> ModelRequest:
    return ModelRequest(system="Be brief.", prompt=prompt, max_output_tokens=10)


async def test_the_first_rule_that_fits_answers(tmp_path: Path) -> None:
    model = scripted(
        tmp_path / "s.json", [{"match": "Porto", "reply": "a"}, {"match": "o", "reply": "b"}, {"reply": "c"}]
    )

    assert [(await model.complete(ask(word))).text for word in ("Porto", "Bonn", "Aix")] == ["a", "b", "c"]


async def test_a_rule_may_match_the_instructions(tmp_path: Path) -> None:
    model = scripted(tmp_path / "s.json", [{"match": "^Be brief", "reply": "yes"}])

    assert (await model.complete(ask("x"))).text == "yes"


async def test_a_rule_is_used_up_after_its_times(tmp_path: Path) -> None:
    model = scripted(tmp_path / "s.json", [{"reply": "a", "times": 2}, {"reply": "b"}])

    assert [(await model.complete(ask("x"))).text for _ in range(4)] == ["a", "a", "b", "b"]


async def test_a_script_may_fail_and_may_be_cut_off(tmp_path: Path) -> None:
    error = {"kind": "rate_limited", "retryable": True, "retry_after": 2}
    model = scripted(tmp_path / "s.json", [{"error": error, "times": 1}, {"reply": "half", "stop": "length"}])

    with pytest.raises(ModelError) as caught:
        await model.complete(ask("x"))
    reply = await model.complete(ask("x"))

    assert (caught.value.kind, caught.value.retryable, caught.value.retry_after) == ("rate_limited", True, 2.0)
    assert (reply.text, reply.stop) == ("half", Stop.LENGTH)


async def test_no_rule_that_fits_is_an_error_no_retry_helps(tmp_path: Path) -> None:
    model = scripted(tmp_path / "s.json", [{"match": "Porto", "reply": "a"}])

    with pytest.raises(ModelError) as caught:
        await model.complete(ask("Bonn"))

    assert not caught.value.retryable


async def test_tokens_are_estimated(tmp_path: Path) -> None:
    model = scripted(tmp_path / "s.json", [{"reply": "A reply of some length."}])

    usage = (await model.complete(ask("A prompt."))).usage

    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


async def test_a_file_may_have_one_rule_a_line(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text('{"match": "Porto", "reply": "a"}\n\n{"reply": "b"}\n', encoding="utf-8")
    model = build_model(Provider.SCRIPTED, str(path), LlmConfig())

    assert [(await model.complete(ask(word))).text for word in ("Porto", "Bonn")] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"reply": "a"}', "line 1 is not JSON"),
        ('{"reply": "a"}\n\n{"reply": }', "line 3 is not JSON"),
        ('[{"reply": "a", "colour": 1}]', "rule 0.colour: Extra inputs are not permitted"),
        ('[{"match": "a"}]', "a rule must have either a reply or an error"),
        ('[{"match": "(", "reply": "a"}]', "rule 0.match"),
        ('[{"reply": "a", "stop": "later"}]', "rule 0.stop"),
        ("5", "rule 0"),
    ],
)
def test_a_bad_script_is_one_line_that_says_where(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ModelSetupError) as caught:
        build_model(Provider.SCRIPTED, str(path), LlmConfig())

    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_script_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelSetupError, match=r"nowhere\.json: cannot be read"):
        build_model(Provider.SCRIPTED, str(tmp_path / "nowhere.json"), LlmConfig())

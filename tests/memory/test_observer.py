"""The observer and the reflector that ask a model, with both adapters over real HTTP."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from app.kit.tokens import text_tokens
from app.llm.build import SMALL_MODELS, build_model
from app.llm.port import LlmConfig, Model, ModelError, Provider
from app.memory.model import ObserverInput, ReflectorInput
from app.memory.observer import ModelObserver
from app.memory.parsing import parse
from app.memory.prompts import prompt
from app.memory.reflector import ModelReflector, reflector_instructions
from app.sessions.model import Kind, Message, Role
from tests.model_replies import Asked, PromptKind
from tests.model_server import Fault, ModelServer, Said
from tests.model_wire import Ending, reply

START = datetime(2026, 8, 1, 23, 30, tzinfo=UTC)
NOW = datetime(2026, 8, 5, tzinfo=UTC)


@pytest.fixture
def server(models: ModelServer) -> ModelServer:
    return models


@pytest.fixture(params=SMALL_MODELS, ids=str)
async def model(server: ModelServer, request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    del server  # its variables are set by now
    model = build_model(request.param, SMALL_MODELS[request.param], LlmConfig())
    yield model
    await model.close()


def conversation(count: int) -> tuple[Message, ...]:
    """Over two days, the user's turns long and the assistant's short."""
    return tuple(
        Message(
            seq=seq,
            id=f"m-{seq}",
            kind=Kind.USER,
            role=Role.USER if seq % 2 else Role.ASSISTANT,
            parts=({"type": "text", "text": f"This is turn {seq} about order {seq * 37}. " * (8 if seq % 2 else 1)},),
            tokens=80,
            created_at=START + timedelta(minutes=seq),
        )
        for seq in range(1, count + 1)
    )


async def test_an_observation_comes_back_with_what_it_cost(model: Model) -> None:
    draft = await ModelObserver(model).draft(ObserverInput(messages=conversation(4)))

    assert draft.text.startswith("<observations>\nDate: Aug 1, 2026\n* 🔴 (23:31) [fact] User said: This is turn 1")
    assert not draft.cut_off
    assert (draft.call.provider, draft.call.model) == (model.provider, model.name)
    assert draft.call.prompt_version == prompt("observer").version
    assert draft.call.usage.input_tokens > draft.call.usage.output_tokens > 0
    assert draft.call.latency_ms >= 0


@pytest.mark.parametrize("ending", [Ending.END, Ending.REFUSAL])
async def test_an_answer_of_a_server_that_tells_no_usage_is_booked_by_an_estimate(
    server: ModelServer, model: Model, ending: Ending
) -> None:
    observer, source, said = ModelObserver(model), ObserverInput(messages=conversation(4)), "* It is so. " * 100

    def answer(asked: Asked) -> Said:
        return Said(body=reply(model.provider.value, asked, said, ending) | {"usage": None})

    server.said_to = answer
    most = await observer.estimate(source)
    try:
        usage = (await observer.draft(source)).call.usage
    except ModelError as refused:
        usage = refused.usage

    assert usage.input_tokens == most.input_tokens > 0
    beside = ending is Ending.REFUSAL and model.provider is Provider.OPENAI  # where no text is
    assert usage.output_tokens == (0 if beside else text_tokens(said))
    assert usage.cost_usd is not None
    assert 0 < usage.cost_usd < (most.cost_usd or 0)


async def test_the_default_observer_of_the_server_cites_every_message(model: Model) -> None:
    span = conversation(60)

    parsed = parse((await ModelObserver(model).draft(ObserverInput(messages=span))).text)

    cited = {seq for item in parsed.items for cite in item.cites for seq in range(cite.first, cite.last + 1)}
    assert parsed.complete
    assert cited == {message.seq for message in span}
    assert {item.day for item in parsed.items} == {"Aug 1, 2026", "Aug 2, 2026"}
    assert parsed.current_task == "Carry on."


async def test_the_instructions_are_the_system_text_and_the_limit_is_sent(server: ModelServer, model: Model) -> None:
    await ModelObserver(model).draft(ObserverInput(messages=conversation(2), output_tokens=9_000))

    (asked,) = server.asked(PromptKind.OBSERVER)
    assert asked.system == prompt("observer").text
    assert asked.max_tokens == 9_000 + LlmConfig().reasoning_tokens


async def test_a_reply_cut_by_the_limit_is_marked(server: ModelServer, model: Model) -> None:
    server.fail_next(Fault.CUT_OFF)

    assert (await ModelObserver(model).draft(ObserverInput(messages=conversation(4)))).cut_off


async def test_an_empty_reply_is_a_draft_for_the_gates_to_judge(server: ModelServer, model: Model) -> None:
    server.fail_next(Fault.EMPTY)

    assert (await ModelObserver(model).draft(ObserverInput(messages=conversation(4)))).text == ""


@pytest.mark.parametrize(("fault", "kind"), [(Fault.REFUSAL, "refused"), (Fault.OVERLOADED, "overloaded")])
async def test_no_answer_is_a_model_error(server: ModelServer, model: Model, fault: Fault, kind: str) -> None:
    server.fail_next(fault)

    with pytest.raises(ModelError) as caught:
        await ModelObserver(model).draft(ObserverInput(messages=conversation(4)))

    assert caught.value.kind == kind


async def test_a_group_beyond_the_input_cap_is_cut(server: ModelServer, model: Model) -> None:
    await ModelObserver(model).draft(ObserverInput(messages=conversation(40), input_tokens=500))

    assert "tokens left out" in server.asked(PromptKind.OBSERVER)[0].prompt


async def test_a_reflection_is_shorter_and_keeps_the_important_lines(model: Model) -> None:
    observed = parse((await ModelObserver(model).draft(ObserverInput(messages=conversation(200)))).text)
    tokens = sum(len(item.text) for item in observed.items) // 4

    draft = await ModelReflector(model).draft(
        ReflectorInput(items=observed.items, source_tokens=tokens, target_tokens=tokens // 2, now=NOW)
    )

    reflected = parse(draft.text)
    assert draft.call.prompt_version == reflector_instructions().version
    assert 0 < len(reflected.items) < len(observed.items)
    assert observed.items[0] in reflected.items
    assert set(reflected.items) <= set(observed.items)


@pytest.mark.parametrize(("target", "limit"), [(10, 1_000), (10_000, 15_000)])
async def test_the_reflector_s_limit_follows_its_target(
    server: ModelServer, model: Model, target: int, limit: int
) -> None:
    await ModelReflector(model).draft(ReflectorInput(items=(), source_tokens=20, target_tokens=target, now=NOW))

    assert server.asked(PromptKind.REFLECTOR)[0].max_tokens == limit + LlmConfig().reasoning_tokens


async def test_observer_and_reflector_name_their_provider(model: Model) -> None:
    assert ModelObserver(model).name == ModelReflector(model).name == model.provider
    assert model.provider in {Provider.ANTHROPIC, Provider.OPENAI}

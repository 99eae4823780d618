"""Every example runs against the service, and leaves in it what it says it does (examples/README.md)."""

import re
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from tests.conftest import Service
from tests.examples.conftest import ROOT, TALK, Run, kinds, weatherman
from tests.model_server import ModelServer

EXAMPLES = ROOT / "examples"


async def test_a_turn_with_curl(service: Service, run: Run) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not on this machine")

    told = [await run("sh", EXAMPLES / "curl" / "turns.sh") for _ in range(2)]

    assert "PRT-5521" in told[0]
    assert '"by":"observation:' in told[0]
    assert '"replayed":4' in told[1]
    assert await kinds(service, "curl") == ["user_message", "tool_call", "tool_result", "assistant_message"]


async def test_a_turn_from_python(service: Service, run: Run) -> None:
    told = await run(sys.executable, EXAMPLES / "python" / "turns.py")

    assert "stored [1, 2]" in told
    assert "Today the desk is open." in told
    assert await kinds(service, "python") == ["user_message", "assistant_message"]


@pytest.mark.parametrize(
    ("provider", "asked"),
    # What a reply may not repeat: the first call has the system prompt and one message, the next the pair besides.
    [("anthropic", [1, 3, 5]), ("openai", [2, 4, 6])],
)
async def test_an_agent_with_a_tool_and_a_memory(service: Service, run: Run, provider: str, asked: list[int]) -> None:
    with ModelServer(other=weatherman) as model:
        told = await run(sys.executable, EXAMPLES / "python" / f"{provider}_agent.py", talk=TALK, **model.environment())

    assert told.splitlines() == ["It is 31 degrees and sunny.", "You are Ana."]
    assert [len(request.body["messages"]) for request in model.requests] == asked
    assert model.requests[1].asked.results == ("31 degrees and sunny",)
    key = f"{provider}-agent"
    turn = ["user_message", "tool_call", "tool_result", "assistant_message"]
    assert await kinds(service, key) == [*turn, "user_message", "assistant_message"]
    usage = (await service.memory(key))["usage"]["actor"]
    assert (usage["turns"], usage["cached_input_tokens"]) == (3, 24)


async def test_a_session_of_openai_s_agents_sdk(service: Service, run: Run) -> None:
    with ModelServer(other=weatherman) as model:
        environment = {**model.environment(), "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        told = await run(sys.executable, EXAMPLES / "python" / "agents_session.py", talk=TALK, **environment)

    assert told.splitlines() == ["It is 31 degrees and sunny in Porto.", "You are Ana."]
    turn = ["user_message", "tool_call", "tool_result", "assistant_message"]
    assert await kinds(service, "agents-session") == [*turn, "user_message", "assistant_message"]


async def test_an_agent_of_langchain(service: Service, run: Run) -> None:
    with ModelServer(other=weatherman) as model:
        told = await run(sys.executable, EXAMPLES / "python" / "langchain_agent.py", talk=TALK, **model.environment())

    assert told.splitlines() == ["It is 31 degrees and sunny in Porto.", "You are Ana."]
    assert [len(request.body["messages"]) for request in model.requests] == [2, 4, 6]
    turn = ["user_message", "tool_call", "tool_result", "assistant_message"]
    assert await kinds(service, "langchain-agent") == [*turn, "user_message", "assistant_message"]


async def test_an_agent_of_pydantic_ai(service: Service, run: Run) -> None:
    with ModelServer(other=weatherman) as model:
        told = await run(sys.executable, EXAMPLES / "python" / "pydantic_ai_agent.py", talk=TALK, **model.environment())

    assert told.splitlines() == ["It is 31 degrees and sunny in Porto.", "You are Ana."]
    assert [request.body["messages"][0]["role"] for request in model.requests] == ["system"] * 3
    turn = ["user_message", "tool_call", "tool_result", "assistant_message"]
    assert await kinds(service, "pydantic-ai-agent") == [*turn, "user_message", "assistant_message"]


async def test_a_session_is_taken_back_and_cleared_as_that_sdk_wants_it(service: Service) -> None:
    spec = spec_from_file_location("agents_session", EXAMPLES / "python" / "agents_session.py")
    assert spec
    assert spec.loader
    spec.loader.exec_module(example := module_from_spec(spec))
    session = example.DaybookSession("s1", service.client)
    assert (await session.get_items(), await session.pop_item()) == ([], None)

    await session.add_items([{"role": "user", "content": f"question {number}"} for number in range(101)])

    assert await session.pop_item() == {"role": "user", "content": "question 100"}
    (last,) = await session.get_items(1)
    assert last["content"][0]["text"] == "question 99"
    await session.clear_session()
    await session.clear_session()
    assert await session.get_items() == []


async def test_the_memory_as_tools_over_mcp(service: Service, run: Run) -> None:
    told = await run(sys.executable, EXAMPLES / "mcp" / "agent.py")

    assert "append_messages" in told
    assert "I live in Porto" in told
    assert await kinds(service, "mcp") == ["user_message"]


def test_the_table_names_every_example_and_none_else() -> None:
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    found = [*EXAMPLES.rglob("*.*"), *(ROOT / "clients" / "typescript" / "examples").iterdir()]
    files = {path.relative_to(ROOT).as_posix() for path in found if path.suffix in {".py", ".sh", ".ts"}}

    named = set(re.findall(r"^\| `([\w/.]+\.(?:py|sh|ts))`", table, re.MULTILINE))

    assert named == files

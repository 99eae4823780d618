"""The TypeScript client: generated from the published document, compiled strictly, and run against the service."""

import asyncio
import shutil

import pytest

from tests.conftest import Service
from tests.examples.conftest import ROOT, TALK, Run, kinds, weatherman
from tests.model_replies import Asked
from tests.model_server import ModelServer

CLIENT = ROOT / "clients" / "typescript"
INSTALLED = CLIENT / "node_modules" / ".package-lock.json"  # npm writes it last
INSTALL_SECONDS = 120.0
PROXY = """
import { createServer } from "node:http";
import { body, daybook } from "./clients/typescript/dist/src/index.js";
const proxy = createServer((_, answer) => answer.writeHead(502).end(process.env.PAGE));
await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));
const memory = daybook({ url: `http://127.0.0.1:${proxy.address().port}` });
try {
  body(await memory.GET("/sessions", {}));
} catch (error) {
  console.log(error.problem?.status, String(error));
}
proxy.close();
"""


async def install() -> None:
    """The locked packages, where they are not there yet; skips where npm is not, or cannot fetch them."""
    lock = CLIENT / "package-lock.json"
    if INSTALLED.exists() and INSTALLED.stat().st_mtime >= lock.stat().st_mtime:
        return
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on this machine; Debian has it as the packages nodejs and npm")
    process = await asyncio.create_subprocess_exec(
        npm, "ci", cwd=CLIENT, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        _, wrong = await asyncio.wait_for(process.communicate(), INSTALL_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        pytest.skip(f"npm cannot install within {INSTALL_SECONDS:.0f} s; is there a network?")
    if process.returncode:
        pytest.skip(f"npm cannot install: {wrong.decode().strip()[-500:]}")


async def test_agents_on_the_typed_client(service: Service, run: Run) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not on this machine; Debian has it as the package nodejs")
    await install()
    await run("npm", "--prefix", CLIENT, "run", "build")

    with ModelServer(other=parrot) as model:
        told = await run("node", CLIENT / "dist/examples/agent.js", talk="I am Ana.\n\n", **model.environment())

    assert told.splitlines() == ["You said: I am Ana.", "1 user_message, 2 assistant_message"]
    assert (await service.memory("typescript-agent"))["usage"]["actor"]["turns"] == 1

    with ModelServer(other=weatherman) as model:
        told = await run("node", CLIENT / "dist/examples/ai_sdk.js", talk=TALK, **model.environment())

    assert told.splitlines() == ['It is {"city":"Porto","degrees":31,"sky":"sunny"}.', "You are Ana."]
    turn = ["user_message", "tool_call", "tool_result", "assistant_message"]
    assert await kinds(service, "ai-sdk-agent") == [*turn, "user_message", "assistant_message"]

    for page in ("", "<h1>Bad Gateway</h1>"):
        told = await run("node", "--input-type=module", "--eval", PROXY, PAGE=page)
        assert told == "502 Error: the answer is a 502 that says no more\n"


def parrot(asked: Asked) -> str:
    return f"You said: {asked.prompt.splitlines()[0]}"

"""Runs the examples as a reader does: as processes, configured by the environment."""

import asyncio
import os
from pathlib import Path
from typing import Protocol

import pytest

from tests.conftest import Service
from tests.model_replies import Asked, ToolCall

ROOT = Path(__file__).parents[2]
TALK = "I am Ana. How is the weather in Porto?\nWho am I?\n\n"  # with ``weatherman``


class Run(Protocol):
    async def __call__(self, *command: str | Path, talk: str = "", **environment: str) -> str:
        """The output of the command; fails if the command does."""
        ...


@pytest.fixture
def run(service: Service) -> Run:
    """Runs a command with the service as MEMORY_URL; ``talk`` is its standard input."""

    async def started(*command: str | Path, talk: str = "", **environment: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=ROOT,
            env=os.environ | {"MEMORY_URL": service.url} | environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        told, wrong = await process.communicate(talk.encode())
        assert process.returncode == 0, wrong.decode()
        return told.decode()

    return started


async def kinds(service: Service, key: str) -> list[str]:
    return [message["kind"] for message in (await service.get(f"/sessions/{key}/messages"))["items"]]


def weatherman(asked: Asked) -> str | ToolCall:
    """A model that says who the user is, or calls the weather tool and reports its result."""
    if "Ana" in asked.prompt and "Who" in asked.prompt:
        return "You are Ana."
    return f"It is {asked.results[-1]}." if asked.results else ToolCall(name="weather", arguments={"city": "Porto"})

"""The memory as an agent's tools over MCP, by the protocol's own client; any MCP client finds the same at /mcp."""

import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

SAID = [{"id": "t1-user", "role": "user", "content": "I am Ana, I live in Porto and I eat no shellfish."}]


async def main() -> None:
    url = os.environ.get("MEMORY_URL", "http://127.0.0.1:8000") + "/mcp"
    key = os.environ.get("MEMORY_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as memory,
    ):
        print("tools", [tool.name for tool in (await memory.list_tools()).tools])
        await memory.call_tool("append_messages", {"session": "mcp", "messages": SAID})
        context = await memory.call_tool("get_context", {"session": "mcp"})
        print("".join(part.text for part in context.content if part.type == "text"))


asyncio.run(main())

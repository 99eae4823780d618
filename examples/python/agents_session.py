"""An agent of OpenAI's Agents SDK that keeps its conversation in Daybook.

``DaybookSession`` is a session of that SDK: a run begins with the compiled context, and each of its turns is stored. It
is the same with the Responses API, the SDK's own choice, and with any server of chat completions.
"""

import asyncio
import os
import sys

import httpx2
from agents import Agent, Runner, SessionSettings, TResponseInputItem, function_tool, set_default_openai_api
from agents.memory import SessionABC

APPENDED_MOST = 100  # messages of one request


class DaybookSession(SessionABC):
    session_settings: SessionSettings | None = None

    def __init__(self, session_id: str, http: httpx2.AsyncClient) -> None:
        self.session_id = session_id
        self._http = http
        self._path = f"/sessions/{session_id}"

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Notes of what was said long ago, then the newest messages; of a new session nothing."""
        answer = await self._http.get(f"{self._path}/context", params={"format": "openai-responses"})
        items: list[TResponseInputItem] = answer.raise_for_status().json()["payload"]["input"]
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        for start in range(0, len(items), APPENDED_MOST):
            messages = items[start : start + APPENDED_MOST]
            (await self._http.post(f"{self._path}/messages", json={"messages": messages})).raise_for_status()

    async def pop_item(self) -> TResponseInputItem | None:
        """Erase the newest message, with what was noted of it. Told of it are its role and its text."""
        answer = await self._http.get(f"{self._path}/messages", params={"order": "desc", "limit": 1})
        if answer.status_code == httpx2.codes.NOT_FOUND or not (newest := answer.raise_for_status().json()["items"]):
            return None
        (await self._http.delete(f"{self._path}/messages/{newest[0]['id']}")).raise_for_status()
        text = "".join(part.get("text", "") for part in newest[0]["content"])
        return {"role": "user" if newest[0]["role"] == "user" else "assistant", "content": text}

    async def clear_session(self) -> None:
        answer = await self._http.delete(self._path)
        if answer.status_code != httpx2.codes.NOT_FOUND:
            answer.raise_for_status()


@function_tool
def weather(city: str) -> str:
    """The weather in a city, now."""
    return f"31 degrees and sunny in {city}"


async def main() -> None:
    set_default_openai_api("chat_completions")
    url, key = os.environ.get("MEMORY_URL", "http://127.0.0.1:8000"), os.environ.get("MEMORY_KEY")
    model = os.environ.get("MODEL", "gpt-6.1-terra")
    agent = Agent(name="Travel", instructions="You are a travel assistant.", model=model, tools=[weather])
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as http:
        session = DaybookSession("agents-session", http)
        for line in sys.stdin:
            if not line.strip():
                break
            print((await Runner.run(agent, line.strip(), session=session)).final_output, flush=True)


if __name__ == "__main__":
    asyncio.run(main())

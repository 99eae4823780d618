"""The MCP tools: each is one request to a route of api.md, with the caller's own key.

So a tool checks, refuses and answers as its route does. A class's docstring is the description for the agent's model.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.kit.json import dumps
from app.memory.rules import MESSAGE_TOKENS_MAX
from app.recall.schemas import LIMIT_DEFAULT, LIMIT_MAX, QUERY_CHARACTERS_MAX
from app.sessions.model import MESSAGES_MOST, SEQ_MAX
from app.sessions.schemas import WAIT_MS_MAX, Name

Budget = Annotated[int, Field(ge=0, le=MESSAGE_TOKENS_MAX)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to the service."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


class Tool(BaseModel, ABC):
    """The arguments of a tool, and the request they ask for."""

    model_config = ConfigDict(extra="forbid")

    reads: ClassVar[bool] = True  # changes nothing

    @abstractmethod
    def call(self) -> Call: ...

    def told(self, answer: Any) -> str:
        """The route's answer, as text for a model."""
        return dumps(answer).decode()

    def _given(self, *, beside: frozenset[str] = frozenset({"session"})) -> dict[str, Any]:
        """The arguments that were given, ``beside`` those that the path names, as JSON."""
        return self.model_dump(mode="json", exclude=set(beside), exclude_none=True)


class SessionTool(Tool, ABC):
    session: Name = Field(description="Key of the conversation, chosen by whoever appends to it")

    def _path(self, name: str) -> str:
        return f"/sessions/{self.session}/{name}"


class Said(BaseModel):
    """A message, in the neutral shape or as a provider's SDK produces it."""

    model_config = ConfigDict(extra="allow")

    role: str | None = Field(None, description="user, assistant, tool or system; an item of a provider's may have none")
    content: str | list[dict[str, Any]] | None = Field(None, description="The text, or its parts")
    id: str | None = Field(None, description="The same id with the same content is stored once")


class AppendMessages(SessionTool):
    """Store messages of a conversation, in their order, so that they are remembered. Call it after each turn."""

    reads: ClassVar[bool] = False

    messages: list[Said] = Field(min_length=1, max_length=MESSAGES_MOST)
    resource_id: Name | None = Field(None, description="Whose conversation it is, e.g. a user's id")

    def call(self) -> Call:
        return Call(method="POST", path=self._path("messages"), body=self._given())


class GetContext(SessionTool):
    """What is remembered of a conversation, as text: notes of what was said and done, then the newest messages."""

    memory_budget: Budget | None = Field(None, description="Tokens of notes at most; 0: no limit")
    message_budget: Budget | None = Field(None, description="Tokens of messages at most; 0: no limit")
    wait_ms: int = Field(0, ge=0, le=WAIT_MS_MAX, description="Wait so long for what was appended to be noted")

    def call(self) -> Call:
        return Call(method="GET", path=self._path("context"), query=self._given() | {"format": "text"})

    def told(self, answer: Any) -> str:
        text: str = answer["payload"]["text"]
        return text


class MemoryStatus(SessionTool):
    """Where the memory of a conversation stands: what waits to be noted, what the notes cover, errors and costs."""

    def call(self) -> Call:
        return Call(method="GET", path=self._path("memory"))


class Recall(Tool):
    """Find what was said earlier and what was noted of it, best first, in one conversation or in all of somebody's."""

    query: str = Field(
        min_length=1,
        max_length=QUERY_CHARACTERS_MAX,
        description="Words to find, in any language; a date in it narrows the time",
    )
    session: Name | None = Field(None, description="Key of the conversation; or else:")
    resource_id: Name | None = Field(None, description="Whose conversations, e.g. a user's id")
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.session is None) == (self.resource_id is None):
            raise ValueError("either session or resource_id says where to look")
        return self

    def call(self) -> Call:
        place = f"/sessions/{self.session}" if self.session else f"/resources/{self.resource_id}"
        return Call(
            method="POST", path=f"{place}/recall", body=self._given(beside=frozenset({"session", "resource_id"}))
        )

    def told(self, answer: Any) -> str:
        return "\n".join(map(_hit_line, answer["hits"])) or "Nothing was found."


class ReadMessages(SessionTool):
    """Read messages word for word, by their numbers: those that a note cites as #12 or #15-18, or that recall tells."""

    from_seq: int = Field(ge=1, le=SEQ_MAX, description="Number of the first message")
    to_seq: int = Field(ge=1, le=SEQ_MAX, description="Number of the last message, itself included")
    conversation: Name | None = Field(
        None, description="Where conversations share a memory, the one that a note names: monday, of #monday:12"
    )

    def call(self) -> Call:
        return Call(method="GET", path=self._path("messages"), query=self._given())

    def told(self, answer: Any) -> str:
        lines = [_message_line(message) for message in answer["items"]]
        if answer["next_cursor"] is not None and lines:
            lines.append(f"More follow, from #{answer['items'][-1]['seq'] + 1} on.")
        return "\n".join(lines) or "There are none."


def _message_line(message: dict[str, Any]) -> str:
    parts = (part["text"] if part["type"] == "text" else dumps(part).decode() for part in message["content"])
    speaker = message["name"] or message["role"]
    return f"[#{message['seq']}, {message['created_at'][:16]}] {speaker}: {' '.join(parts)}"


def _hit_line(hit: dict[str, Any]) -> str:
    return f"[{_place(hit)}{hit['created_at'][:16]}] {hit['role'] or hit['kind']}: {hit['text']}"


def _place(hit: dict[str, Any]) -> str:
    """The session and seqs of a hit; "" for a fact that was noted by hand, which rests on no session."""
    if hit["session"] is None:
        return ""
    last = "" if hit["from_seq"] == hit["to_seq"] else f"-{hit['to_seq']}"
    return f"{hit['session']} #{hit['from_seq']}{last}, "


TOOLS: Mapping[str, type[Tool]] = {
    "append_messages": AppendMessages,
    "get_context": GetContext,
    "memory_status": MemoryStatus,
    "recall": Recall,
    "read_messages": ReadMessages,
}

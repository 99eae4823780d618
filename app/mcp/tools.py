"""The MCP tools: each is one request to a route of api.md, with the caller's own key.

So a tool checks, refuses and answers as its route does. A class's docstring is the description for the agent's model.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.context.rendering.text import part_line
from app.context.wording import hanging, marked, speaker
from app.kit.json import dumps
from app.memory.rules import MESSAGE_TOKENS_MAX
from app.recall.schemas import LIMIT_DEFAULT, LIMIT_MAX, QUERY_CHARACTERS_MAX
from app.sessions.model import MESSAGES_MOST, SEQ_MAX, Trust
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

    def as_text(self, answer: Any) -> str:
        """The route's answer, as text for a model."""
        return dumps(answer).decode()

    def _given(self, *, beside: frozenset[str] = frozenset({"session"})) -> dict[str, Any]:
        """The arguments that were given, ``beside`` those that the path names, as JSON."""
        return self.model_dump(mode="json", exclude=set(beside), exclude_none=True)


class SessionTool(Tool, ABC):
    session: Name = Field(
        description="Key of the conversation: chosen at its first append, the same in each call since"
    )

    def _path(self, name: str) -> str:
        return f"/sessions/{self.session}/{name}"


class Said(BaseModel):
    """A message, in the neutral shape or as a provider's SDK produces it."""

    model_config = ConfigDict(extra="allow")

    role: str | None = Field(None, description="user, assistant, tool or system; an item of a provider's may have none")
    content: str | list[dict[str, Any]] | None = Field(None, description="The text, or its parts")
    id: str | None = Field(None, description="The same id with the same content is stored once")


class AppendMessages(SessionTool):
    """Store messages of a conversation, oldest first, so that they are remembered.

    Call it after each turn, with what the user, the assistant and the tools said.
    """

    reads: ClassVar[bool] = False

    messages: list[Said] = Field(min_length=1, max_length=MESSAGES_MOST, description="The new messages, oldest first")
    resource_id: Name | None = Field(
        None, description="Id of the user or project whose conversation it is; give it with the first messages"
    )

    def call(self) -> Call:
        return Call(method="POST", path=self._path("messages"), body=self._given())


class GetContext(SessionTool):
    """Get what is remembered of a conversation, as text: notes of what was said and done, then the newest messages.

    Call it before each turn.
    """

    memory_budget: Budget | None = Field(None, description="Maximum tokens of the notes; 0: no limit")
    message_budget: Budget | None = Field(None, description="Maximum tokens of the messages; 0: no limit")
    wait_ms: int = Field(
        0,
        ge=0,
        le=WAIT_MS_MAX,
        description="Milliseconds to wait at most until the notes are up to date; 0: do not wait",
    )

    def call(self) -> Call:
        return Call(method="GET", path=self._path("context"), query=self._given() | {"format": "text"})

    def as_text(self, answer: Any) -> str:
        text: str = answer["payload"]["text"]
        return text


class MemoryStatus(SessionTool):
    """Get the state of a conversation's memory: what waits to be noted, what the notes cover, errors and costs.

    It has nothing of what was said.
    """

    def call(self) -> Call:
        return Call(method="GET", path=self._path("memory"))


class Recall(Tool):
    """Search what was said earlier, and the notes and facts about it, in one conversation or in all of a user's.

    Use it before saying that you do not know or do not remember something. Returns the best first, each with the key of
    its conversation and the numbers of its messages, which read_messages takes.
    """

    query: str = Field(
        min_length=1,
        max_length=QUERY_CHARACTERS_MAX,
        description="Words that were probably said, in any language; what was said at a time named in it, such as"
        ' "last May", comes first',
    )
    session: Name | None = Field(None, description="Key of the conversation to search; not with resource_id")
    resource_id: Name | None = Field(
        None, description="Id of the user or project all of whose conversations to search; not with session"
    )
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX, description="Maximum number of results")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.session is None) == (self.resource_id is None):
            raise ValueError("send either session or resource_id, to say where to search")
        return self

    def call(self) -> Call:
        place = f"/sessions/{self.session}" if self.session else f"/resources/{self.resource_id}"
        return Call(
            method="POST", path=f"{place}/recall", body=self._given(beside=frozenset({"session", "resource_id"}))
        )

    def as_text(self, answer: Any) -> str:
        return "\n".join(map(_hit_line, answer["hits"])) or "Nothing was found."


class ReadMessages(SessionTool):
    """Read messages word for word, by their numbers: as a note cites them, #12 or #15-18, or a result of recall."""

    from_seq: int = Field(ge=1, le=SEQ_MAX, description="Number of the first message")
    to_seq: int = Field(ge=1, le=SEQ_MAX, description="Number of the last message, itself included")
    conversation: Name | None = Field(
        None, description="If a note names a conversation, its key: monday for #monday:12; default: the session"
    )

    def call(self) -> Call:
        return Call(method="GET", path=self._path("messages"), query=self._given())

    def as_text(self, answer: Any) -> str:
        lines = [_message_line(message) for message in answer["items"]]
        if answer["next_cursor"] is not None and lines:
            lines.append(f"More follow, from #{answer['items'][-1]['seq'] + 1} on.")
        return "\n".join(lines) or "There are none."


def _message_line(message: dict[str, Any]) -> str:
    text = "\n".join(line for part in message["content"] if (line := part_line(part)))
    return _line(message, f"#{message['seq']}, ", by=speaker(message["role"], message["name"]), text=text)


def _hit_line(hit: dict[str, Any]) -> str:
    return _line(hit, _place(hit), by=hit["role"] or hit["kind"], text=hit["text"])


def _line(told: dict[str, Any], place: str, *, by: str, text: str) -> str:
    """A message or a hit, marked if it is a tool's or a stranger's; nothing in it can pose as another."""
    trust = None if told["trust"] is None else Trust(told["trust"])
    text = marked(text, role=told["role"], trust=trust)
    return hanging(f"[{place}{told['created_at'][:16]}] {by}: {text}")


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

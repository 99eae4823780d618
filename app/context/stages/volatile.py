"""The volatile part: what changes with every turn, after all that is cached (memory-rules.md section 6, part 7)."""

from collections.abc import Iterator
from dataclasses import replace

from app.context.draft import Draft, Line, noting
from app.context.elsewhere import elsewhere
from app.context.explain import decision
from app.context.model import Ask, Format, Snapshot, Verdict
from app.context.wording import current_task, suggested_response, titled, today
from app.kit.json import dumps
from app.sessions.model import Message, Part, PartType, Role
from app.sessions.wire.anthropic import PROVIDER

TODAY = "today"


def volatile(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """Today's date and the other lines of the volatile part.

    None if the assistant spoke last, unless a search found something (docs/decisions/0035).
    """
    date = ask.now.astimezone(snapshot.rules.zone).date()
    others = elsewhere(snapshot, tokens_max=ask.limits.elsewhere_tokens)
    lines = (Line(TODAY, today(date)), *_of_memory(snapshot, ask), *others, *of_caller(ask))
    if _runs(draft, ask):
        verdict, reason = Verdict.DROPPED, "a tool of the provider's waits for results alone"
    elif _has_place(draft, ask) or (ask.recalled and not _calls(draft)):
        draft, verdict, reason = replace(draft, volatile=lines), Verdict.KEPT, "changes by the turn"
    else:
        verdict, reason = Verdict.DROPPED, "no message of the user or of a tool comes last"
    return noting(draft, ask, (decision("volatile", verdict, line, reason) for line in lines))


def _has_place(draft: Draft, ask: Ask) -> bool:
    """Whether a user's or a tool's message comes last; without messages, whether there is anything else to show."""
    messages = draft.tail.messages
    return messages[-1].role is not Role.ASSISTANT if messages else bool(draft.continuation) or any(of_caller(ask))


def _calls(draft: Draft) -> bool:
    """Whether the last message calls a tool: a user's message after it would leave the calls without results."""
    return any(part["type"] == PartType.TOOL_CALL for message in draft.tail.messages[-1:] for part in message.parts)


def _runs(draft: Draft, ask: Ask) -> bool:
    """Whether a tool that Anthropic runs has no result yet: it then takes results of the agent's tools, but no text."""
    found: set[str] = set()
    for message in reversed(draft.tail.messages) if ask.format is Format.ANTHROPIC else ():
        if message.role is Role.ASSISTANT:
            found |= {part["tool_call_id"] for part in message.parts if part["type"] == PartType.TOOL_RESULT}
            if any(_is_anthropic_s(part) and part["id"] not in found for part in message.parts):
                return True
        if message.role is not Role.TOOL and _says(message):
            return False
    return False


def _says(message: Message) -> bool:
    return message.role is not Role.ASSISTANT or any(part["type"] == PartType.TEXT for part in message.parts)


def _is_anthropic_s(part: Part) -> bool:
    return part["type"] == PartType.TOOL_CALL and part.get("provider") == PROVIDER and "native" in part


def _of_memory(snapshot: Snapshot, ask: Ask) -> Iterator[Line]:
    since = snapshot.last_seq - snapshot.observed_seq + len(ask.incoming)
    if snapshot.rules.enabled and snapshot.current_task:
        yield Line("current_task", current_task(snapshot.current_task, messages_since=since))
    if snapshot.rules.enabled and snapshot.suggested_response:
        yield Line("suggested_response", suggested_response(snapshot.suggested_response, messages_since=since))


def of_caller(ask: Ask) -> Iterator[Line]:
    """The caller's lines, titled texts last: anything after one of those would seem to belong to it."""
    if ask.channel:
        yield Line("channel", f"Channel: {ask.channel}")
    for name, value in ask.state.items():
        yield Line(f"state:{name}", f"State {name} = {dumps(value).decode()}")
    for found in ask.recalled:
        yield Line(f"recalled:{found.seq}", found.text)
    for index, item in enumerate(ask.knowledge):
        if item.placement == "tail":
            yield Line(f"knowledge:{index}", "\n" + titled(item.title, item.text))

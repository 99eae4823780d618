"""Generates conversations with every kind of message, as the requests that post them; deterministic by seed."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

Message = dict[str, Any]
Requests = list[list[Message]]

BEGIN = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)
NAMES = ("Ana", "Boris", "Chen", "Dana", "Emre", "Freya")
CITIES = ("Lisbon", "Turin", "Osaka", "Bergen", "Quito")
THINGS = ("the invoice", "my passport", "the old bicycle", "a telescope", "the garden plan")
CJK = (
    ("저는 다음 달에 부산으로 이사하고 {n}번 버스를 탈 거예요.", "알겠습니다. {n}번 버스 시간표를 찾아볼게요."),
    ("我下个月搬到上海，新房子的租金是{n}元。", "好的，我记下了租金{n}元。"),
    ("来月から京都で働きます。給料は{n}円です。", "おめでとうございます。{n}円ですね。"),
)


@dataclass(slots=True)
class Talk:
    """Generates scenes; every message has an id and a time of its own."""

    chance: random.Random
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def requests(self, scenes: int) -> Requests:
        """The requests of so many scenes; each kind comes once before any is repeated."""
        kinds = self._kinds()
        order = [kinds[number % len(kinds)] for number in range(scenes)]
        return [request for scene in order for request in scene()]

    def _kinds(self) -> Sequence[Callable[[], Requests]]:
        kinds = [
            *([self._chat] * 4),
            self._foreign,
            self._loop,
            self._parallel_calls,
            self._late_result,
            self._unanswered_call,
            self._unobserved,
            self._blanks,
            self._long,
        ]
        self.chance.shuffle(kinds)
        return kinds

    def message(self, role: str, content: Any, **fields: Any) -> Message:
        number = next(self._numbers)
        at = (BEGIN + timedelta(minutes=17 * number)).isoformat()
        return {"id": f"m-{number}", "role": role, "content": content, "created_at": at, **fields}

    def _chat(self) -> Requests:
        name, city, thing = map(self.chance.choice, (NAMES, CITIES, THINGS))
        amount = self.chance.randint(12, 4_000)
        told = (
            f"I decided that {name} takes {thing} to {city} on August {amount % 28 + 1}, it costs {amount} euros. "
            f"{name} prefers the train at {amount % 12 + 8}:15 over the plane, because of ticket {self._call_id()}. "
            f"My sister, who works in {city}, moved to house number {amount % 97} last year and waits for both of us."
        )
        asked = (
            f"Understood: {name}, {thing}, {city}, {amount} euros, by train. I have put it into the calendar and sent "
            f"a copy to {name.lower()}@example.org. Shall I book a room near house number {amount % 97} as well?"
        )
        return [[self.message("user", told, name=name)], [self.message("assistant", asked)]]

    def _foreign(self) -> Requests:
        told, answered = self.chance.choice(CJK)
        n = self.chance.randint(100, 9_000)
        said = self.message("user", told.format(n=n)), self.message("assistant", [text(answered.format(n=n))])
        return [list(said)]

    def _loop(self) -> Requests:
        """Three calls one after the other, in OpenAI's shape."""
        requests = [[self.message("user", f"Why does job {self.chance.randint(1, 99)} fail?")]]
        for _ in range(3):
            name = self._call_id()
            function = {"name": "read_log", "arguments": f'{{"lines": {self.chance.randint(5, 80)}}}'}
            called = [{"id": name, "type": "function", "function": function}]
            requests.append([self.message("assistant", None, tool_calls=called)])
            requests.append([self.message("tool", "Error: disk full on /dev/sda1", tool_call_id=name)])
        return [*requests, [self.message("assistant", "The disk is full. Decision: rotate the logs daily.")]]

    def _parallel_calls(self) -> Requests:
        """Two parallel calls, in Anthropic's shape, answered in reverse order and by two requests."""
        first, second = self._call_id(), self._call_id()
        asked = [{"type": "tool_use", "id": name, "name": "lookup", "input": {"id": name}} for name in (first, second)]
        return [
            [self.message("user", "Compare both offers, please.")],
            [self.message("assistant", [text("Both at once."), *asked])],
            [self.message("user", [outcome(second, "Offer B: 310 euros, delivery on Friday.")])],
            [self.message("user", [outcome(first, "Offer A: 290 euros, delivery in a week.")])],
            [self.message("assistant", "Offer A is cheaper, offer B is faster.")],
        ]

    def _late_result(self) -> Requests:
        """The user speaks before the result comes, which closes the call."""
        name = self._call_id()
        return [
            [self.message("assistant", [{"type": "tool_call", "id": name, "name": "build", "arguments": {}}])],
            [self.message("user", "Never mind the build, tell me about the release date instead.")],
            [self.message("tool", [{"type": "tool_result", "tool_call_id": name, "output": {"ok": True}}])],
            [self.message("assistant", "The release is on September 14. The build has passed in the meantime.")],
        ]

    def _unanswered_call(self) -> Requests:
        name = self._call_id()
        lost = [{"type": "tool_call", "id": name, "name": "ping", "arguments": {"host": "db-1"}}]
        return [
            [self.message("user", "Is db-1 up?"), self.message("assistant", lost)],
            [self.message("user", "Forget it, db-1 answers again.")],
        ]

    def _unobserved(self) -> Requests:
        secret = self.message("user", f"My pin is {self.chance.randint(1_000, 9_999)}.", observe=False)
        return [
            [self.message("system", "The user is on the mobile app now.")],
            [secret, self.message("assistant", "I shall not keep it.", observe=False)],
        ]

    def _blanks(self) -> Requests:
        return [[self.message("user", ""), self.message("assistant", " ")], [self.message("user", [text("")])]]

    def _long(self) -> Requests:
        """A message that alone exceeds a small budget."""
        lines = [f"{number}. {self.chance.choice(NAMES)} pays {number * 7} euros." for number in range(60)]
        return [[self.message("user", "\n".join(lines))], [self.message("assistant", "That is a long list.")]]

    def _call_id(self) -> str:
        return f"call_{self.chance.getrandbits(40):x}"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def outcome(call_id: str, content: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": [text(content)]}


def mixed_talk(seed: int, *, scenes: int) -> Requests:
    return Talk(random.Random(seed)).requests(scenes)  # noqa: S311 - a conversation, no secret


def plain_talk(messages: int) -> list[Message]:
    """Messages of user and assistant in turn, of some 30 tokens each."""
    writer = Talk(random.Random(1))  # noqa: S311 - a conversation, no secret
    pairs = [writer._chat() for _ in range(-(-messages // 2))]
    return [message for pair in pairs for request in pair for message in request][:messages]


def talk(first: int, last: int) -> list[Message]:
    """Messages ``first`` to ``last`` of ``plain_talk``, counted from 1."""
    return plain_talk(last)[first - 1 :]

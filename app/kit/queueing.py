"""Fair shares of a pool: callers that wait for one busy thing leave room for all others (docs/decisions/0058)."""

import asyncio
from asyncio import CancelledError, Future
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import AsyncExitStack, asynccontextmanager


class Queues:
    """Divides ``places`` among things. One gets a further place if it then holds no more than are left free.

    So one thing alone gets half of the places, a second one half of the rest, and so on; ``spare`` places stay free for
    the next one. Things that are all busy converge to equal shares (the dynamic threshold by which queues share the
    memory of a switch, with a factor of 1: Choudhury and Hahne, 1998). Waiting callers hold no place: within a thing
    they are served first come, first served, and the things take turns.
    """

    def __init__(self, *, places: int, seconds: float, spare: int = 1) -> None:
        self._places = places
        self._seconds = seconds
        self._spare = spare
        self._free = places
        self._taken: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, thing: Hashable) -> AsyncIterator[None]:
        """Hold a place for the thing. Raises TimeoutError after ``seconds``. Not re-entrant."""
        if thing in self._waiting or not self._has_room(thing):
            await self._wait(thing)
        else:
            self._take(thing)  # at once: a timeout would cost more than all of this
        try:
            yield
        finally:
            self._leave(thing)

    def _has_room(self, thing: Hashable) -> bool:
        """Whether the thing may have a further place; always if no place is taken, however few there are."""
        return self._free == self._places > 0 or self._taken[thing] + self._spare < self._free

    def _take(self, thing: Hashable) -> None:
        self._taken[thing] += 1
        self._free -= 1

    async def _wait(self, thing: Hashable) -> None:
        """Wait until ``_admit`` has taken a place for this caller."""
        if not self._seconds:
            raise TimeoutError
        came: Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(thing, deque()).append(came)
        try:
            async with asyncio.timeout(self._seconds):
                await came
        except (TimeoutError, CancelledError):
            if not came.cancelled():  # a place was just taken for it
                self._leave(thing)
            raise

    def _leave(self, thing: Hashable) -> None:
        """Free a place, and admit at most one caller of each thing."""
        self._free += 1
        self._taken[thing] -= 1
        if not self._taken[thing]:
            del self._taken[thing]
        for other in list(self._waiting):
            if self._has_room(other):
                self._admit(other)

    def _admit(self, thing: Hashable) -> None:
        """Take a place for the first caller that was not cancelled, and move the thing behind the others."""
        waiting = self._waiting.pop(thing)
        while waiting:
            came = waiting.popleft()
            if not came.done():
                self._take(thing)
                came.set_result(None)
                break
        if waiting:
            self._waiting[thing] = waiting


class Shared:
    """Divides ``places`` among tenants (docs/decisions/0069). One gets a place if it holds fewer than are free.

    A tenant alone gets half, and at least one; the last place goes to one that has none. Others wait for ``seconds``.
    """

    def __init__(self, *, places: int, seconds: float = 0.0) -> None:
        self._queues = Queues(places=places, seconds=seconds, spare=0)

    @asynccontextmanager
    async def place(self, sharer: Hashable, *, refusal: Exception) -> AsyncIterator[None]:
        """Hold a place for the ``sharer`` (``sharer_of`` in app/kit/auth.py). Raises ``refusal`` if there is none."""
        async with AsyncExitStack() as held:
            try:
                await held.enter_async_context(self._queues.turn(sharer))
            except TimeoutError as error:
                raise refusal from error
            yield

"""Servers of the tests' own that leave no connection behind.

asyncio ends a server at once and leaves its connections to whoever collects the garbage: some later test, which fails.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

ROUNDS = 4  # of the event loop, from a connection that was accepted to the task that talks on it

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(talk: Talk, listener: socket.socket | None = None, *, limit: int = 2**16) -> AsyncIterator[int]:
    """A server that talks so on each connection, until the block ends; yields its port.

    A connection is closed where ``talk`` ends, or its client is gone. ``limit``: bytes, of what is read until a mark.
    """
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = talks.create_task(_talked(talk, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        task.add_done_callback(lambda _: writer.transport.abort())  # even of a task that never began

    listener = listener or socket.create_server(("127.0.0.1", 0))
    async with asyncio.TaskGroup() as talks:
        server = await asyncio.start_server(connected, sock=listener, limit=limit)
        try:
            yield listener.getsockname()[1]
        finally:
            asyncio.get_running_loop().remove_reader(listener)  # nobody more is accepted
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            server.close()
            for task in tasks:
                task.cancel()
    await asyncio.sleep(0)  # a transport closes its socket in the round after it is told to


async def _talked(talk: Talk, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):  # the client is gone, or to be reset
        await talk(reader, writer)
        writer.close()
        await writer.wait_closed()

"""The floor: a minimal service on the same stack. ``FLOOR_DSN`` names its database.

One bare INSERT ... RETURNING per POST, one indexed SELECT of 20 rows per GET: no ids, no idempotency, no tokens, no
memory, no key, no log. The pool, the event loop and the HTTP parser are those of the service.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import uvicorn
from fastapi import FastAPI, Request
from pydantic import BaseModel

ROWS = 20

SCHEMA = """
CREATE TABLE IF NOT EXISTS floor_messages (
  session text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  role text NOT NULL,
  content text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session, id)
)
"""
INSERT = """
INSERT INTO floor_messages (session, role, content) SELECT $1, * FROM unnest($2::text[], $3::text[])
RETURNING id, created_at
"""
INSERT_ONE = "INSERT INTO floor_messages (session, role, content) VALUES ($1, $2, $3) RETURNING id, created_at"
SELECT = f"""
SELECT id, role, content, created_at FROM floor_messages WHERE session = $1 ORDER BY id DESC LIMIT {ROWS}
"""  # noqa: S608 - a number of our own


class MessageIn(BaseModel):
    role: str
    content: str


class AppendIn(BaseModel):
    messages: list[MessageIn]


async def _keep(_connection: Any) -> None:
    """No round trip on return to the pool, as in the service."""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with asyncpg.create_pool(os.environ["FLOOR_DSN"], min_size=2, max_size=10, reset=_keep) as pool:
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/sessions/{key}/messages", status_code=201)
async def append(key: str, body: AppendIn, request: Request) -> dict[str, Any]:
    messages = body.messages
    async with request.app.state.pool.acquire() as connection:
        if len(messages) == 1:
            rows = [await connection.fetchrow(INSERT_ONE, key, messages[0].role, messages[0].content)]
        else:
            columns = [message.role for message in messages], [message.content for message in messages]
            rows = await connection.fetch(INSERT, key, *columns)
    return {"messages": [dict(row) for row in rows]}


@app.get("/sessions/{key}/messages")
async def read(key: str, request: Request) -> dict[str, Any]:
    async with request.app.state.pool.acquire() as connection:
        rows = await connection.fetch(SELECT, key)
    return {"messages": [dict(row) for row in rows]}


@app.get("/readyz")
async def ready() -> dict[str, str]:
    return {"status": "ok"}


if __name__ == "__main__":
    uvicorn.run(
        app,
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
    )

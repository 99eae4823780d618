"""A running service as far as a replay needs it."""

from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx2

from app.replay.errors import ReplayError

ANSWER_SECONDS_MAX = 60.0  # on top of what the service is asked to wait


class Service:
    """The routes of one service. Every failure is a ReplayError of one line."""

    def __init__(self, url: str, *, key: str | None = None) -> None:
        self._url = url
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            self._http = httpx2.Client(base_url=url, headers=headers, timeout=ANSWER_SECONDS_MAX)
        except httpx2.InvalidURL as error:
            raise ReplayError(f"{url}: {error}") from error
        except UnicodeEncodeError as error:
            raise ReplayError("the key has characters that no header can carry") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()

    def is_ready(self) -> bool:
        try:
            return self._http.get("/readyz", timeout=2.0).is_success
        except httpx2.TransportError:
            return False

    def configure(self, session: str, config: dict[str, Any]) -> None:
        self._ask("PUT", session, json={"config": config})

    def append(self, session: str, message: dict[str, Any], *, wait_ms: int) -> dict[str, Any]:
        """The stored message, ``{id, seq, kind, tokens}``, with ``replayed``: it was stored before."""
        answer = self._ask("POST", session, "/messages", json={"messages": [message]}, wait_ms=wait_ms)
        return {**answer["messages"][0], "replayed": bool(answer["replayed"])}

    def context(self, session: str, *, wait_ms: int = 0, **query: str | int) -> dict[str, Any]:
        return self._ask("GET", session, "/context", wait_ms=wait_ms, **query)

    def memory(self, session: str) -> dict[str, Any]:
        return self._ask("GET", session, "/memory")

    def _ask(
        self, method: str, session: str, path: str = "", *, json: Any = None, wait_ms: int = 0, **query: str | int
    ) -> dict[str, Any]:
        if wait_ms:
            query["wait_ms"] = wait_ms
        try:
            response = self._http.request(
                method,
                f"/sessions/{quote(session, safe='')}{path}",
                params=query,
                json=json,
                timeout=ANSWER_SECONDS_MAX + wait_ms / 1000,
            )
        except httpx2.HTTPError as error:
            reason = error or type(error).__name__
            raise ReplayError(f"no answer from {self._url}: {reason} (--url names another service)") from error
        return _answer(response)


def _answer(response: httpx2.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = None
    if not response.is_success or not isinstance(body, dict):
        raise ReplayError(f"{response.request.method} {response.url.path}: {response.status_code} {_problem(body)}")
    return body


def _problem(body: Any) -> str:
    """A problem document (RFC 9457) in one line; anything else is not an answer of this service."""
    if not isinstance(body, dict) or "title" not in body:
        return "is not an answer of Daybook"
    faults = [f"{fault.get('pointer')}: {fault.get('detail')}" for fault in body.get("errors") or ()]
    return "; ".join(filter(None, [body["title"], *(faults or [body.get("detail", "")])]))

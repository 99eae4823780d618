"""The HTTP client of a replay."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx2

from app.kit.errors import first_line
from app.kit.patterns import lazy_pattern
from app.replay.errors import ReplayError
from app.settings import is_sendable, without_password

ANSWER_SECONDS_MAX = 60.0  # on top of what the service is asked to wait
BUSY = frozenset({429, 503})  # it says by Retry-After when to ask again
SECONDS = lazy_pattern("[0-9]{1,9}")
BUSY_SECONDS_MAX = 300  # for one answer, all waits together


class Service:
    """The routes of a running service that a replay needs. Every failure is a ReplayError of one line."""

    def __init__(self, url: str, *, key: str | None = None, wait: Callable[[float], None] = time.sleep) -> None:
        """``wait`` waits so many seconds if the service says that it is busy, or that the key asks too often."""
        self._url = without_password(url)
        self._wait = wait
        if key and not is_sendable(key):
            raise ReplayError("no header can carry the key: ASCII characters only, and no space at its ends")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            self._http = httpx2.Client(base_url=url, headers=headers, timeout=ANSWER_SECONDS_MAX)
        except httpx2.InvalidURL as error:
            raise ReplayError(f"{self._url}: {error}") from error

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
        """Send a request, again while the service is busy: it was not executed then, or is idempotent by its id."""
        if wait_ms:
            query["wait_ms"] = wait_ms
        request = self._http.build_request(
            method,
            f"/sessions/{quote(session, safe='')}{path}",
            params=query,
            json=json,
            timeout=ANSWER_SECONDS_MAX + wait_ms / 1000,
        )
        response, waited = self._send(request), 0
        while (seconds := _busy_seconds(response)) is not None and waited + seconds <= BUSY_SECONDS_MAX:
            self._wait(seconds)
            waited += seconds
            response = self._send(request)
        return _answer(response)

    def _send(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return self._http.send(request)
        except httpx2.HTTPError as error:
            raise ReplayError(
                f"no answer from {self._url}: {first_line(error)} (--url names another service)"
            ) from error


def _busy_seconds(response: httpx2.Response) -> int | None:
    """After how many seconds, one at least, to ask again; None if the service is not busy."""
    said = response.headers.get("retry-after", "")
    return max(1, int(said)) if response.status_code in BUSY and SECONDS.fullmatch(said) else None


def _answer(response: httpx2.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = None
    if not response.is_success or not isinstance(body, dict):
        advice = " (--key, or DAYBOOK_BOOTSTRAP_KEY)" if response.status_code == httpx2.codes.UNAUTHORIZED else ""
        said = f"{response.status_code} {_problem(body)}{advice}"
        raise ReplayError(f"{response.request.method} {response.url.path}: {said}")
    return body


def _problem(body: Any) -> str:
    """A problem document (RFC 9457) in one line; anything else is not an answer of this service."""
    if not isinstance(body, dict) or "title" not in body:
        return "is not an answer of Daybook"
    faults = [f"{fault.get('pointer')}: {fault.get('detail')}" for fault in body.get("errors") or ()]
    return "; ".join(filter(None, [body["title"], *(faults or [body.get("detail", "")])]))

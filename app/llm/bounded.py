"""The SDKs' HTTP client with a limit on the bytes of a reply.

An SDK reads a whole body before it parses it: one that never ends took 400 MB a second, on loopback, until the
time-out.
"""

from typing import Any

import httpx2

from app.llm.port import BrokenOffError, TooLargeError

# Headers that describe the bytes on the wire; the body that is handed on is decompressed.
OF_THE_WIRE = ("content-encoding", "content-length", "transfer-encoding")
ENDED = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)  # errors after the connection was made


class BoundedReplies(httpx2.AsyncClient):
    """A mixin, to be listed before an SDK's own client. ``reply_bytes_max`` counts decompressed bytes."""

    def __init__(self, *, reply_bytes_max: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._reply_bytes_max = reply_bytes_max

    async def send(self, request: httpx2.Request, *, stream: bool = False, **kwargs: Any) -> httpx2.Response:
        """The response, its body read within the limit. Raises TooLargeError or BrokenOffError."""
        try:
            response = await self._led(request, **kwargs)
        except ENDED as error:
            raise BrokenOffError(begun=False) from error
        if stream:
            return response
        try:
            body = await self._body(response)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in OF_THE_WIRE]
        return httpx2.Response(response.status_code, headers=headers, content=body, request=request)

    async def _body(self, response: httpx2.Response) -> bytes:
        """The body. A successful response raises TooLargeError or BrokenOffError; an error's body may be cut."""
        body = bytearray()
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > self._reply_bytes_max:
                    break
        except httpx2.TimeoutException:
            raise
        except httpx2.RequestError as error:
            if response.is_success:
                raise BrokenOffError(begun=True) from error
        if len(body) > self._reply_bytes_max and response.is_success:
            raise TooLargeError(f"more than the {self._reply_bytes_max:,} bytes that are read")
        return bytes(body)

    async def _led(self, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
        """The response after redirects. Unlike the client it reads none of their bodies, which may never end."""
        kwargs |= {"stream": True, "follow_redirects": False}
        for _ in range(self.max_redirects + 1):
            response = await super().send(request, **kwargs)
            if not response.has_redirect_location:
                return response
            await response.aclose()
            if response.next_request is None:
                raise httpx2.RemoteProtocolError("a redirect to what is no address", request=request)
            request = response.next_request
            kwargs.pop("auth", None)  # meant for the first host only
        raise httpx2.TooManyRedirects("too many redirects", request=request)

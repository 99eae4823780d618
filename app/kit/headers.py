"""The lines of a request's headers; and security headers of every answer, so that a browser runs no content of it."""

from collections.abc import Mapping

POLICY = "Content-Security-Policy"
SECURITY: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Stored content (an artifact may be HTML) runs no script, loads nothing and is shown in no frame.
    POLICY: "default-src 'none'; frame-ancestors 'none'; sandbox",
}

# Of what the service reads: lists, whose lines are one value, and what has a single value.
LISTS = frozenset({b"accept", b"content-encoding", b"if-match", b"if-none-match", b"transfer-encoding"})
SINGLE = frozenset(
    {b"authorization", b"content-type", b"host", b"idempotency-key", b"if-range", b"last-event-id", b"range"}
)

RawHeaders = list[tuple[bytes, bytes]]
RAW: RawHeaders = [(name.lower().encode(), value.encode()) for name, value in SECURITY.items()]


def joined(headers: RawHeaders) -> RawHeaders:
    """The headers, with the lines of a list joined by commas (RFC 9110 section 5.3)."""
    if len(dict(headers)) == len(headers):
        return headers
    lists = {name: b", ".join(value for its, value in headers if its == name) for name, _ in headers if name in LISTS}
    return [*((name, value) for name, value in headers if name not in lists), *lists.items()]


def repeated(headers: RawHeaders) -> str | None:
    """The name of a header that has a single value, but lines of several."""
    if len(dict(headers)) == len(headers):
        return None
    names = [name for name, _ in set(headers) if name in SINGLE]
    return next((name.decode().title() for name in names if names.count(name) > 1), None)


def secured(headers: RawHeaders) -> RawHeaders:
    """The headers with the security headers added; values that are set already win."""
    said = {name.lower() for name, _ in headers}
    return headers + [(name, value) for name, value in RAW if name not in said]

"""Security headers of every answer: a browser that is led to one runs nothing of it."""

from collections.abc import Mapping

POLICY = "Content-Security-Policy"
SECURITY: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # What a caller stored (an artifact may be HTML) runs no script, loads nothing and stands in no frame.
    POLICY: "default-src 'none'; frame-ancestors 'none'; sandbox",
}

RawHeaders = list[tuple[bytes, bytes]]
RAW: RawHeaders = [(name.lower().encode(), value.encode()) for name, value in SECURITY.items()]


def secured(headers: RawHeaders) -> RawHeaders:
    """The headers with those of security; a page's own values stand."""
    said = {name.lower() for name, _ in headers}
    return headers + [(name, value) for name, value in RAW if name not in said]

"""Security headers of every answer, so that a browser runs no content of one."""

from collections.abc import Mapping

POLICY = "Content-Security-Policy"
SECURITY: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Stored content (an artifact may be HTML) runs no script, loads nothing and is shown in no frame.
    POLICY: "default-src 'none'; frame-ancestors 'none'; sandbox",
}

RawHeaders = list[tuple[bytes, bytes]]
RAW: RawHeaders = [(name.lower().encode(), value.encode()) for name, value in SECURITY.items()]


def secured(headers: RawHeaders) -> RawHeaders:
    """The headers with the security headers added; values that are set already win."""
    said = {name.lower() for name, _ in headers}
    return headers + [(name, value) for name, value in RAW if name not in said]

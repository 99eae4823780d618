"""Reads and validates the SDKs' own variables: the keys and base URLs of providers.

An SDK takes them as they are: a key with a trailing newline makes a header that cannot be sent, and an empty base URL
cannot be reached.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import httpx2

from app.llm.calls import ModelSetupError

PORT_MAX: Final = 65_535


def given(environ: Mapping[str, str], name: str) -> str | None:
    """The stripped value of a variable; None if it is empty or blank, which counts as not set."""
    return environ.get(name, "").strip() or None


def given_key(environ: Mapping[str, str], name: str) -> str | None:
    """The key, or None. Raises ModelSetupError if a header cannot carry it."""
    key = given(environ, name)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ModelSetupError(f"{name} is not a key: it has characters other than printable ASCII")
    return key


def given_address(environ: Mapping[str, str], name: str) -> str | None:
    """The base URL, or None. Raises ModelSetupError if it is no URL, without quoting it: it may hold a password."""
    address = given(environ, name)
    if address is not None and not _is_address(address):
        shape = "http:// or https://, a host and, if any, a port of up to 65535, without blanks,"
        raise ModelSetupError(f"{name} is not a URL: {shape} are expected")
    return address


def _is_address(text: str) -> bool:
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError):
        return False
    return url.scheme in {"http", "https"} and bool(url.host) and " " not in text and (url.port or 0) <= PORT_MAX


@contextmanager
def building(provider: str) -> Iterator[None]:
    """Within the block a client is built. Raises ModelSetupError if a variable that HTTP clients read is wrong.

    The original error may quote a URL with its password, so its message is not repeated.
    """
    try:
        yield
    except ImportError as error:
        raise ModelSetupError(f"provider {provider}: a SOCKS proxy needs the package socksio: see ALL_PROXY") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelSetupError(f"provider {provider}: see SSL_CERT_FILE and SSL_CERT_DIR: {reason}") from error
    except (httpx2.InvalidURL, ValueError) as error:
        raise ModelSetupError(
            f"provider {provider}: a proxy's address is not a URL: see HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY"
        ) from error

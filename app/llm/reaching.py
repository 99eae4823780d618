"""Where a provider is, and by which key: the SDKs' own variables, taken as they were meant or refused by their name.

An SDK takes them as they are. A key with the newline of a file makes a header that cannot be sent, and an empty address
is one that cannot be reached.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import httpx2

from app.llm.calls import ModelSetupError

PORT_MAX: Final = 65_535


def given(environ: Mapping[str, str], name: str) -> str | None:
    """What a variable says; None for an empty one, and for one of blanks, which counts as not set."""
    return environ.get(name, "").strip() or None


def given_key(environ: Mapping[str, str], name: str) -> str | None:
    """Raises ModelSetupError for what no header can carry."""
    key = given(environ, name)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ModelSetupError(f"{name} is no key: it has other characters than printable ASCII")
    return key


def given_address(environ: Mapping[str, str], name: str) -> str | None:
    """Raises ModelSetupError for what is no address. It is not quoted, for it may hold a password."""
    address = given(environ, name)
    if address is not None and not _is_address(address):
        shape = "http:// or https://, a host, and where it has one a port of up to 65535, without blanks"
        raise ModelSetupError(f"{name} is no address: that is {shape}")
    return address


def _is_address(text: str) -> bool:
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError):
        return False
    return url.scheme in {"http", "https"} and bool(url.host) and " " not in text and (url.port or 0) <= PORT_MAX


@contextmanager
def building(provider: str) -> Iterator[None]:
    """Raises ModelSetupError for what a client cannot be built of: the variables that every HTTP client reads.

    What is raised then may quote an address with its password, so it is not told.
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
            f"provider {provider}: a proxy is no address: see HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY"
        ) from error

"""Examples for the OpenAPI document: a test compares the answers."""

from datetime import UTC, datetime
from hashlib import sha256

from app.kit.openapi import Examples
from app.transfer.lines import end, header

_HEADER = header(scope="resource", of="user-42", now=datetime(2026, 8, 1, 10, 10, tzinfo=UTC))
_EXPORT = (_HEADER + end(1, lost=0, digest=sha256(_HEADER).hexdigest())).decode()

EXAMPLES = {"exportResource": Examples(answers={200: _EXPORT})}

"""Counts the tokens of a message, once, at append: the sum of its parts + 4 (memory-rules.md section 1)."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.kit.json import as_text
from app.kit.tokens import text_tokens
from app.sessions.files import file_content, inline_bytes
from app.sessions.model import Part, PartType, is_part

MESSAGE_TOKENS = 4
TOKENS_MAX = 2**31 - 1  # of one message: the most that the column holds
# width x height / 750, and an image is scaled down to about 1,600 tokens
# (docs.anthropic.com, Vision, "Calculate image costs").
IMAGE_PIXELS_PER_TOKEN, IMAGE_TOKENS_MAX = 750, 1_600
# For an image of unknown size: about 2 bits a pixel in a photograph of good quality, so 750 pixels are some 190 bytes.
IMAGE_BYTES_PER_TOKEN = 190
IMAGE_TOKENS = 258  # neither size nor bytes known: one tile (ai.google.dev/gemini-api/docs/tokens)
# A page of a PDF costs 1,500-3,000 tokens (docs.anthropic.com, PDF support) and mostly has 30-100 kB.
FILE_BYTES_PER_TOKEN = 30
FILE_TOKENS = 258
BASE64_CHARS, BASE64_BYTES = 4, 3


def message_tokens(parts: Sequence[Part]) -> int:
    """Tokens of a message with these parts."""
    return min(MESSAGE_TOKENS + sum(part_tokens(part) for part in parts), TOKENS_MAX)


def part_tokens(part: Part) -> int:
    """Tokens of one part; the caller's own ``tokens`` wins."""
    own = _size(part.get("tokens"))
    return sum(_counted(part)) if own is None else own


def _counted(part: Part) -> Iterator[int]:
    match part["type"]:
        case PartType.TEXT:
            yield _json_tokens(part.get("text", ""))
        case PartType.TOOL_CALL:
            yield _json_tokens(part.get("name", ""))
            yield _json_tokens(part.get("arguments", ""))
        case PartType.TOOL_RESULT:
            yield _content_tokens(part.get("output", ""))
        case PartType.IMAGE:
            yield _image_tokens(part)
        case PartType.FILE:
            yield _file_tokens(part)


def _json_tokens(value: Any) -> int:
    return text_tokens(as_text(value))


def _content_tokens(content: Any) -> int:
    """Tokens of a string, of JSON, or of a list whose items are parts or JSON."""
    if not isinstance(content, list):
        return _json_tokens(content)
    return sum(part_tokens(item) if is_part(item) else _json_tokens(item) for item in content)


def _image_tokens(part: Part) -> int:
    width, height = _size(part.get("width")), _size(part.get("height"))
    if width and height:
        return min(_share(width * height, IMAGE_PIXELS_PER_TOKEN), IMAGE_TOKENS_MAX)
    size = _data_bytes(part)
    return min(_share(size, IMAGE_BYTES_PER_TOKEN), IMAGE_TOKENS_MAX) if size else IMAGE_TOKENS


def _file_tokens(part: Part) -> int:
    content = file_content(part)
    if content is not None:
        return _content_tokens(content)
    size = _data_bytes(part)
    return _share(size, FILE_BYTES_PER_TOKEN) if size else FILE_TOKENS


def _data_bytes(part: Part) -> int:
    _, data = inline_bytes(part)
    return len(data) * BASE64_BYTES // BASE64_CHARS if isinstance(data, str) else 0


def _share(whole: int, unit: int) -> int:
    return max(1, round(whole / unit))


def _size(value: Any) -> int | None:
    """The caller's number if it is an integer from 0 to ``TOKENS_MAX``, else None."""
    is_size = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= TOKENS_MAX
    return value if is_size else None

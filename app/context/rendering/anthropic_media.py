"""Images and files that Anthropic accepts, as blocks; for any other it refuses the whole request."""

from collections.abc import Collection
from typing import Any

from app.context.rendering.anthropic_shapes import TRANSFORMATIONS
from app.context.rendering.parts import IMAGE_TYPES, is_shown, media, own_file_id, visible
from app.context.rendering.shape import fitting
from app.context.rendering.thread import Item
from app.sessions.files import file_content
from app.sessions.model import Part, PartType, text_part

DOCUMENT_TYPES = frozenset({"application/pdf"})
SEARCH_RESULT, UPLOAD = "search_result", "container_upload"
WEB, FILE_ID = "https://", "file_"
ABOUT = {"title": 500, "context": 10_000}  # fields about a document, and the most characters of each


def media_block(part: Part) -> Item | None:
    """An image, a document or a search result as a block; None if Anthropic cannot see it."""
    if part.get("native") == SEARCH_RESULT:
        return _search_result(part)
    if part.get("native") == UPLOAD and (file_id := own_file_id(part, FILE_ID)):
        return {"type": UPLOAD, "file_id": file_id}
    is_image = part["type"] == PartType.IMAGE
    source = _source(part, IMAGE_TYPES if is_image else DOCUMENT_TYPES)
    if source is None:
        return None
    if is_image:
        return {"type": "image", "source": source, **_scaling(part)}
    return {"type": "document", "source": source, **_about(part)}


def _source(part: Part, types: Collection[str]) -> Item | None:
    """The block's source: base64 data, what the file says, a web address, or a file in Anthropic's store."""
    media_type, url, data = media(part)
    if data and media_type in types:
        return {"type": "base64", "media_type": media_type, "data": data}
    if part["type"] == PartType.FILE and (content := file_content(part)) is not None:
        return _said_source(content)
    if url and url.startswith(WEB) and media_type in {"", *types}:
        return {"type": "url", "url": url}
    file_id = own_file_id(part, FILE_ID)
    return {"type": "file", "file_id": file_id} if file_id else None


def _said_source(content: Any) -> Item | None:
    if isinstance(content, str) and content.strip():
        return {"type": "text", "media_type": "text/plain", "data": content}
    texts = _texts(content)
    return {"type": "content", "content": texts} if texts else None


def _texts(content: Any) -> list[Item]:
    """The text blocks that ``content`` is a list of; none if it is anything else."""
    if not isinstance(content, list) or not all(is_shown(item) and item["type"] == PartType.TEXT for item in content):
        return []
    return [text_part(item["text"]) for item in content if visible(item)]


def _scaling(part: Part) -> Item:
    scaled = fitting(TRANSFORMATIONS, part.get("transformations"))
    return {"transformations": scaled} if scaled else {}


def _about(part: Part) -> Item:
    """The title, context and citations that a document was sent with."""
    words = {"title": part.get("name"), "context": part.get("context")}
    said = {key: value for key, value in words.items() if isinstance(value, str) and 0 < len(value) <= ABOUT[key]}
    return {**said, **_citing(part)}


def _search_result(part: Part) -> Item | None:
    source, title, content = part.get("url"), part.get("name"), _texts(part.get("content"))
    if not (isinstance(source, str) and isinstance(title, str) and content):
        return None
    return {"type": SEARCH_RESULT, "source": source, "title": title, "content": content, **_citing(part)}


def _citing(part: Part) -> Item:
    citations = part.get("citations")
    enabled = citations.get("enabled") if isinstance(citations, dict) else None
    return {"citations": {"enabled": enabled}} if isinstance(enabled, bool) else {}

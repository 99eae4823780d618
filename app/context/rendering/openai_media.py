"""Images and files that both of OpenAI's APIs accept; for any other they refuse the whole request."""

from app.context.rendering.parts import IMAGE_TYPES, media, own_file_id
from app.context.rendering.thread import Item
from app.sessions.model import Part

WEB = ("https://", "http://")
FILE_ID = "file-"
NO_FILES = ("audio/", "image/", "video/")
DETAILS = ("low", "high", "auto", "original")


def image_url(part: Part) -> str | None:
    media_type, url, data = media(part)
    if data and media_type in IMAGE_TYPES:
        return f"data:{media_type};base64,{data}"
    return url if url and url.startswith(WEB) else None


def image_detail(part: Part) -> str | None:
    """The level of detail, in its own object as in Chat Completions, or on the part as in the Responses API."""
    own = part.get("image_url")
    detail = own.get("detail") if isinstance(own, dict) else part.get("detail")
    return detail if detail in DETAILS else None


def file_data(part: Part) -> Item | None:
    """The bytes with a file name; the part's name may be any JSON in a tool's output."""
    media_type, _, data = media(part)
    if not data or not media_type or media_type.startswith(NO_FILES):
        return None
    name = part.get("name")
    named = name if isinstance(name, str) and name else "file"
    return {"filename": named, "file_data": f"data:{media_type};base64,{data}"}


def file_url(part: Part) -> str | None:
    url = media(part).url
    return url if url and url.startswith(WEB) and part.get("content") is None else None


def file_id(part: Part) -> str | None:
    return own_file_id(part, FILE_ID)

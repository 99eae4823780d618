"""Domain errors of sessions, resources and messages."""

from typing import Self

from app.kit.errors import Category, DomainError, Unavailable


class SessionNotFound(DomainError):
    slug, title, category = "session-not-found", "There is no such session", Category.NOT_FOUND

    def __init__(self, key: str, *, beside: str | None = None) -> None:
        """``beside``: the session in whose shared memory ``key`` was looked for."""
        super().__init__(
            f"there is no session '{key}'"
            if beside is None
            else f"session '{beside}' shares its memory with no session '{key}'"
        )


class SessionExists(DomainError):
    slug, title, category = "session-exists", "The session exists already", Category.CONFLICT


class ResourceNotFound(DomainError):
    slug, title, category = "resource-not-found", "There is no such resource", Category.NOT_FOUND


class MessageNotFound(DomainError):
    slug, title, category = "message-not-found", "There is no such message", Category.NOT_FOUND

    @classmethod
    def by_id(cls, key: str, message_id: str) -> Self:
        return cls(f"session '{key}' has no message '{message_id}'")


class MessageConflict(DomainError):
    slug, title, category = "message-conflict", "The message id is used for other content already", Category.CONFLICT


class MessageErased(DomainError):
    slug, title, category = "message-erased", "The message was erased", Category.GONE


class MessageSealed(DomainError):
    slug, title, category = "message-sealed", "The message is sealed: the memory has notes of it", Category.CONFLICT


class MessageTooLarge(DomainError):
    slug, title, category = "message-too-large", "A message is too large", Category.TOO_LARGE


class MetadataTooLarge(DomainError):
    slug, title, category = "metadata-too-large", "The metadata is too large", Category.TOO_LARGE


class ScopeConflict(DomainError):
    slug, title, category = "scope-conflict", "The session's scope cannot change any more", Category.CONFLICT


class SessionMoved(Unavailable):
    """The session has joined or left a memory, or was branched, since it was read: it has to be read again."""


class ResourceConflict(DomainError):
    slug, title, category = "resource-conflict", "The session belongs to another resource", Category.CONFLICT

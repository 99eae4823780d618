"""What can be wrong with a request about a memory."""

from app.kit.errors import Category, DomainError


class VersionNotFound(DomainError):
    slug, title, category = "version-not-found", "The memory has no such version", Category.NOT_FOUND

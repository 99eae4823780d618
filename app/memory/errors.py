"""Errors of requests about a memory."""

from app.kit.errors import Category, DomainError


class VersionNotFound(DomainError):
    slug, title, category = "version-not-found", "The memory has no such version", Category.NOT_FOUND


class ObservationNotFound(DomainError):
    slug, title, category = "observation-not-found", "There is no such observation", Category.NOT_FOUND


class ReflectionNotFound(DomainError):
    slug, title, category = "reflection-not-found", "There is no such reflection", Category.NOT_FOUND


class AlreadyCompacted(DomainError):
    slug, title, category = "already-compacted", "A summary covers more messages already", Category.CONFLICT


class NotLive(DomainError):
    slug, title, category = "not-live", "The note is not live", Category.CONFLICT

"""The errors of the state."""

from app.kit.errors import Category, DomainError


class StateNotFound(DomainError):
    slug, title, category = "state-not-found", "There is no such value", Category.NOT_FOUND


class NoResource(DomainError):
    slug, title, category = "no-resource", "The session belongs to no resource", Category.CONFLICT


class StateTooLarge(DomainError):
    slug, title, category = "state-too-large", "The state is too large", Category.TOO_LARGE

"""The errors of facts."""

from app.kit.errors import Category, DomainError


class FactNotFound(DomainError):
    slug, title, category = "fact-not-found", "There is no such fact", Category.NOT_FOUND


class FactTooLarge(DomainError):
    slug, title, category = "fact-too-large", "The fact is too large", Category.TOO_LARGE


class TooManyFacts(DomainError):
    slug, title, category = "too-many-facts", "The resource has too many facts", Category.TOO_LARGE

"""The errors of artifacts."""

from app.kit.errors import Category, DomainError


class ArtifactNotFound(DomainError):
    slug, title, category = "artifact-not-found", "There is no such artifact", Category.NOT_FOUND


class ArtifactTooLarge(DomainError):
    slug, title, category = "artifact-too-large", "The artifact is too large", Category.TOO_LARGE


class ArtifactsFull(DomainError):
    slug, title, category = "artifacts-full", "The limit on artifact versions is reached", Category.TOO_LARGE


class ArtifactNotText(DomainError):
    slug, title, category = "artifact-not-text", "The artifact is not text", Category.INVALID

"""Builds observer, reflector, extractor and embedder from the settings: a provider's models, or the built-in ones."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opentelemetry.trace import Tracer

from app.choosing import Chosen, ChosenModels, chosen_models
from app.diagnostics.overview import NamedRole
from app.kit.tracing import UNTRACED
from app.llm.build import build_model
from app.llm.embedding import EmbeddingConfig
from app.llm.embedding_build import GuardedEmbedder, build_embedder
from app.llm.guard import Guard, GuardConfig, GuardedModel
from app.llm.port import LlmConfig, Model, Provider
from app.memory.extractive.roles import ExtractiveExtractor, ExtractiveObserver, ExtractiveReflector
from app.memory.facts.extractor import ModelExtractor
from app.memory.model import Extractor, Observer, Reflector
from app.memory.observer import ModelObserver
from app.memory.reflector import ModelReflector
from app.settings import Settings, configured

EMBEDDINGS = "embeddings"  # the key of their own guard: other models of the provider may work when they fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Observer, reflector and extractor, and the models behind them (none behind the extractive ones).

    ``embedder`` is None if recall is by words alone.
    """

    observer: Observer
    extractor: Extractor
    reflector: Reflector
    models: Sequence[Model]
    embedder: GuardedEmbedder | None
    guards: Mapping[str, Guard]  # by provider, and EMBEDDINGS
    named: Sequence[NamedRole]  # as the overview shows them

    async def close(self) -> None:
        """Close the connections to the providers."""
        embedders = [] if self.embedder is None else [self.embedder]
        await asyncio.gather(*(model.close() for model in self.models), *(found.close() for found in embedders))


def build_roles(settings: Settings, tracer: Tracer = UNTRACED) -> Roles:
    chosen = chosen_models(settings)
    guards: dict[str, Guard] = {}
    models: list[Model] = []
    config = configured(LlmConfig, settings.llm)

    def build(provider: Provider, name: str) -> Model:
        guard = guards.setdefault(provider, Guard(configured(GuardConfig, settings.llm)))
        models.append(GuardedModel(build_model(provider, name, config), guard, tracer))
        return models[-1]

    def both(role: Chosen) -> tuple[Model, Model | None]:
        """The role's model, and the smaller one if configured."""
        return build(role.provider, role.model), build(role.provider, role.small_model) if role.small_model else None

    observer: Observer = ExtractiveObserver()
    extractor: Extractor = ExtractiveExtractor()
    reflector: Reflector = ExtractiveReflector()
    if chosen.observer.provider is not Provider.EXTRACTIVE:
        models_of_observer = both(chosen.observer)
        observer, extractor = ModelObserver(*models_of_observer), ModelExtractor(*models_of_observer)
    if chosen.reflector.provider is not Provider.EXTRACTIVE:
        reflector = ModelReflector(*both(chosen.reflector))
    embedder = _embedder(settings, guards)
    return Roles(
        observer=observer,
        reflector=reflector,
        extractor=extractor,
        models=models,
        embedder=embedder,
        guards=guards,
        named=_named(chosen, embedder, guards),
    )


def _embedder(settings: Settings, guards: dict[str, Guard]) -> GuardedEmbedder | None:
    """The embedder, behind a guard of its own, which is added to ``guards``; None if recall is by words alone."""
    if settings.embeddings.provider is None:
        return None
    guards[EMBEDDINGS] = Guard(configured(GuardConfig, settings.embeddings))
    config = configured(EmbeddingConfig, settings.embeddings)
    return GuardedEmbedder(build_embedder(config), guards[EMBEDDINGS], config)


def _named(chosen: ChosenModels, embedder: GuardedEmbedder | None, guards: Mapping[str, Guard]) -> Sequence[NamedRole]:
    roles = {"observer": chosen.observer, "extractor": chosen.observer, "reflector": chosen.reflector}
    told = [
        NamedRole(
            role=role,
            provider=one.provider,
            model=one.model,
            small_model=one.small_model,
            guard=guards.get(one.provider),
        )
        for role, one in roles.items()
    ]
    if embedder is not None:
        provider, _, model = embedder.label.partition(" ")
        told.append(NamedRole(role=EMBEDDINGS, provider=provider, model=model, guard=guards[EMBEDDINGS]))
    return told

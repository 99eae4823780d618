"""Chooses the providers and models of observer and reflector, from the settings and the providers' keys."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from app.llm.build import MID_MODELS, SMALL_MODELS, default_provider
from app.llm.port import Provider
from app.setting_groups import ModelSettings
from app.settings import Settings, SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    provider: Provider
    model: str
    small_model: str | None = None

    @property
    def label(self) -> str:
        return self.provider.value if self.provider is Provider.EXTRACTIVE else f"{self.provider.value} {self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModels:
    observer: Chosen
    reflector: Chosen


def chosen_models(settings: Settings, environ: Mapping[str, str] | None = None) -> ChosenModels:
    """The models of observer and reflector: by the role's own setting, else the service's, else the keys that are set.

    The service's model does not apply to a role with another provider. Raises SettingsError.
    """
    service = settings.provider or default_provider(os.environ if environ is None else environ)
    return ChosenModels(
        observer=_chosen("observer", settings.observer, service, settings.model, SMALL_MODELS),
        reflector=_chosen("reflector", settings.reflector, service, settings.model, MID_MODELS),
    )


def unused_models(settings: Settings, environ: Mapping[str, str] | None = None) -> list[str]:
    """The settings that name a model without effect, because no provider is named and none has a key."""
    if settings.provider or default_provider(os.environ if environ is None else environ) is not Provider.EXTRACTIVE:
        return []
    named = {"DAYBOOK_MODEL": settings.model}
    for role, own in (("OBSERVER", settings.observer), ("REFLECTOR", settings.reflector)):
        if own.provider is None:
            named |= {f"DAYBOOK_{role}__MODEL": own.model, f"DAYBOOK_{role}__SMALL_MODEL": own.small_model}
    return [name for name, model in named.items() if model]


def _chosen(
    role: str, own: ModelSettings, service: Provider, model: str | None, defaults: Mapping[Provider, str]
) -> Chosen:
    provider = own.provider or service
    name = own.model or (model if provider is service else None) or defaults.get(provider, "")
    if provider is Provider.SCRIPTED and not name:
        raise SettingsError(f"DAYBOOK_MODEL: the {role} is scripted, so this must be the path of the file of replies")
    return Chosen(provider=provider, model=name, small_model=own.small_model)

"""Which provider and model a role has: its own, the service's, or that of the key that is set."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.choosing import Chosen, chosen_models, unused_models
from app.llm.build import MID_MODELS, SMALL_MODELS
from app.llm.port import Provider
from app.settings import Settings, SettingsError

ANTHROPIC_KEY, OPENAI_KEY = {"ANTHROPIC_API_KEY": "a"}, {"OPENAI_API_KEY": "b"}
EXTRACTIVE = (Provider.EXTRACTIVE, "")


def defaults(provider: Provider) -> tuple[tuple[Provider, str], ...]:
    return (provider, SMALL_MODELS[provider]), (provider, MID_MODELS[provider])


@pytest.mark.parametrize(
    ("settings", "environ", "expected"),
    [
        pytest.param({}, {}, (EXTRACTIVE, EXTRACTIVE), id="no key"),
        pytest.param({}, ANTHROPIC_KEY | OPENAI_KEY, defaults(Provider.ANTHROPIC), id="both keys"),
        pytest.param({}, ANTHROPIC_KEY, defaults(Provider.ANTHROPIC), id="one key"),
        pytest.param({}, OPENAI_KEY, defaults(Provider.OPENAI), id="the other key"),
        pytest.param({}, {"ANTHROPIC_API_KEY": ""} | OPENAI_KEY, defaults(Provider.OPENAI), id="an empty key is none"),
        pytest.param(
            {"provider": "openai"}, ANTHROPIC_KEY, defaults(Provider.OPENAI), id="a provider stands above a key"
        ),
        pytest.param(
            {"provider": "extractive"}, ANTHROPIC_KEY, (EXTRACTIVE, EXTRACTIVE), id="no model although there is a key"
        ),
        pytest.param(
            {"model": "m"}, ANTHROPIC_KEY, ((Provider.ANTHROPIC, "m"), (Provider.ANTHROPIC, "m")), id="one model"
        ),
        pytest.param(
            {"observer": {"model": "small"}},
            OPENAI_KEY,
            ((Provider.OPENAI, "small"), defaults(Provider.OPENAI)[1]),
            id="a role's own model",
        ),
        pytest.param(
            {"model": "m", "reflector": {"provider": "extractive"}},
            OPENAI_KEY,
            ((Provider.OPENAI, "m"), EXTRACTIVE),
            id="a role's own provider does not get the service's model",
        ),
        pytest.param(
            {"model": "m", "observer": {"provider": "anthropic"}},
            OPENAI_KEY,
            (defaults(Provider.ANTHROPIC)[0], (Provider.OPENAI, "m")),
            id="nor another provider",
        ),
        pytest.param(
            {"model": "m", "observer": {"provider": "openai", "model": "n"}},
            OPENAI_KEY,
            ((Provider.OPENAI, "n"), (Provider.OPENAI, "m")),
            id="both of its own",
        ),
        pytest.param(
            {"provider": "scripted", "model": "replies.json"},
            {},
            ((Provider.SCRIPTED, "replies.json"), (Provider.SCRIPTED, "replies.json")),
            id="scripted",
        ),
    ],
)
def test_each_role_has_its_own_model_or_the_service_s_or_the_default(
    settings: dict[str, Any], environ: Mapping[str, str], expected: tuple[tuple[Provider, str], ...]
) -> None:
    chosen = chosen_models(Settings(**settings), environ)
    roles = chosen.observer, chosen.reflector
    assert tuple((role.provider, role.model) for role in roles) == expected


@pytest.mark.parametrize(
    ("settings", "role"),
    [
        ({"provider": "scripted"}, "observer"),
        ({"reflector": {"provider": "scripted"}}, "reflector"),
        ({"model": "m", "provider": "openai", "observer": {"provider": "scripted"}}, "observer"),
    ],
)
def test_a_scripted_role_has_to_name_its_file(settings: dict[str, Any], role: str) -> None:
    with pytest.raises(SettingsError, match=rf"^DAYBOOK_MODEL: the {role} is scripted"):
        chosen_models(Settings(**settings), {})


@pytest.mark.parametrize(
    ("settings", "environ", "unused"),
    [
        ({}, {}, []),
        ({"model": "gpt-9"}, {}, ["DAYBOOK_MODEL"]),
        ({"model": "gpt-9", "observer": {"model": "m"}}, {}, ["DAYBOOK_MODEL", "DAYBOOK_OBSERVER__MODEL"]),
        ({"reflector": {"small_model": "m"}}, {}, ["DAYBOOK_REFLECTOR__SMALL_MODEL"]),
        ({"observer": {"provider": "openai", "model": "m"}}, {}, []),
        ({"model": "gpt-9"}, OPENAI_KEY, []),
        ({"model": "gpt-9", "provider": "extractive"}, {}, []),
    ],
)
def test_a_model_that_is_named_where_no_provider_has_a_key_is_told(
    settings: dict[str, Any], environ: Mapping[str, str], unused: list[str]
) -> None:
    """One that is turned off on purpose is not."""
    assert unused_models(Settings(**settings), environ) == unused


def test_a_model_is_told_with_its_provider_and_the_built_in_by_its_name() -> None:
    assert Chosen(provider=Provider.OPENAI, model="m").label == "openai m"
    assert Chosen(provider=Provider.EXTRACTIVE, model="").label == "extractive"

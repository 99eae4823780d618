"""``daybook keys`` as an operator uses it, and what a service makes of the keys."""

import asyncio
import re
import subprocess
from datetime import UTC, datetime, timedelta

import httpx2 as httpx
import pytest

from app.commands import issuing
from app.commands.issuing import expiry, wanted
from app.kit.auth import Access
from app.kit.errors import StartError
from app.settings import Settings
from tests.conftest import StartService
from tests.journeys.processes import command
from tests.keys.conftest import bearer

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("90d", NOW + timedelta(days=90)),
        ("12h", NOW + timedelta(hours=12)),
        ("2027-01-31", datetime(2027, 1, 31, tzinfo=UTC)),
        ("2027-01-31T10:00:00+02:00", datetime(2027, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_an_expiry_is_a_span_or_a_date(text: str, when: datetime) -> None:
    assert expiry(text, NOW) == when


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scopes": ["owner"]}, "'owner' is not a scope; the scopes are read, write, admin"),
        ({"name": "x" * 201}, "at most 200"),
        ({"name": "a\nb"}, "printable"),
        ({"expires": "tomorrow"}, "is not a time"),
        ({"expires": "2020-01-01"}, "is in the past"),
        ({"expires": "9" * 5_000 + "d"}, "is not a time"),
        ({"expires": "99999999d"}, "is not within the years 1 to 9999"),
        ({"expires": "99999999999h"}, "is not within the years 1 to 9999"),
        ({"expires": "9999-12-31T23:59:59-12:00"}, "is not within the years 1 to 9999"),
        ({"expires": "0001-01-01T00:00:00+12:00"}, "is not within the years 1 to 9999"),
    ],
)
def test_a_key_that_cannot_be_made_is_told_in_one_line(given: dict[str, object], said: str) -> None:
    with pytest.raises(StartError, match=said):
        wanted(**{"tenant": "acme", "scopes": ["read"], "name": "", "expires": None, **given})  # type: ignore[arg-type] # one of each


async def test_a_key_made_on_the_command_line_opens_a_running_service_until_it_is_revoked(
    start_service: StartService, database_url: str
) -> None:
    async def keys(*arguments: str) -> "subprocess.CompletedProcess[str]":
        environment = {"DAYBOOK_DATABASE_URL": database_url}
        return await asyncio.to_thread(command, "keys", *arguments, environment=environment)

    async with start_service(keys={"cache_seconds": 0}) as service:
        made = await keys(
            "create", "--tenant", "acme", "--scope", "read", "--name", "ci", "--expires", "90d", "--scope", "write"
        )
        secret = made.stdout.strip()
        assert re.fullmatch(r"daybook_[0-9a-f]{12}_[\w-]{43}", secret), made.stderr
        assert (await service.client.get("/sessions")).status_code == httpx.codes.UNAUTHORIZED
        assert (await service.client.get("/sessions", headers=bearer(secret))).status_code == httpx.codes.OK

        listed = (await keys("list")).stdout.strip()
        key_id = secret.split("_")[1]
        assert re.fullmatch(rf"{key_id}  acme  read,write  valid until \S+Z  never used  ci", listed)
        assert "revoked" in (await keys("revoke", key_id)).stdout
        assert (await service.client.get("/sessions", headers=bearer(secret))).status_code == httpx.codes.UNAUTHORIZED


def test_keys_are_listed_by_tenant_and_revoked_by_who_knows_whose_they_are(database_url: str) -> None:
    settings = Settings(database_url=database_url)
    for tenant in ("b", "a"):
        issuing.create(settings, wanted(tenant=tenant, scopes=["admin", "read"], name="", expires=None))
    assert [(key.tenant, key.scopes, key.access) for key in issuing.listed(settings, None)] == [
        (tenant, [Access.READ, Access.ADMIN], Access.ADMIN) for tenant in ("a", "b")
    ]
    [key] = issuing.listed(settings, "a")
    with pytest.raises(StartError, match=f"there is no key {key.id} of tenant b"):
        issuing.revoke(settings, key.id, "b")
    revoked = issuing.revoke(settings, key.id, "a")
    assert revoked.revoked_at is not None
    assert issuing.revoke(settings, key.id, "a") == revoked

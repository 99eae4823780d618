"""Who is let in, to do what, and for how long: by the Authority alone, on a clock of the test's own."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from app.keys.auth import BOOTSTRAP, LOCAL, Auth, AuthConfig
from app.keys.model import hashed, id_of, new_secret
from app.keys.store import KeyStore
from app.kit.auth import Access, is_own_host
from app.kit.db import Database, DatabaseConfig
from app.kit.errors import Unauthorized
from tests.conftest import Service, StartService
from tests.keys.conftest import MakeKey
from tests.test_problems import assert_problem

NOW = datetime(2026, 8, 1, tzinfo=UTC)
BELIEVED = timedelta(seconds=10)


class HandClock:
    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def auth(key_store: KeyStore, clock: HandClock) -> Auth:
    return Auth(AuthConfig(cache_seconds=BELIEVED.total_seconds(), cached_max=2), store=key_store, clock=clock)


def asking(secret: str) -> Headers:
    return Headers({"authorization": f"Bearer {secret}", "host": "daybook.example"})


async def access_of(auth: Auth, secret: str) -> Access | None:
    """What the key may do; None: it is refused."""
    try:
        return (await auth.caller(asking(secret))).access
    except Unauthorized:
        return None


@given(held=st.sampled_from(Access), needed=st.sampled_from(Access))
def test_admin_includes_write_and_write_includes_read(held: Access, needed: Access) -> None:
    included = {Access.READ: {"read"}, Access.WRITE: {"read", "write"}, Access.ADMIN: {"read", "write", "admin"}}
    assert held.covers(needed) is (needed.value in included[held])


def test_a_key_tells_its_id_and_no_two_are_alike() -> None:
    made = [new_secret() for _ in range(100)]
    assert len({id_of(secret) for secret in made}) == len(made)
    assert len(new_secret()) > 43 + len("daybook_")  # 32 bytes of chance


@pytest.mark.parametrize(
    "text", ["", "daybook", "daybook_abc", "daybook_abc_def", "other_0123456789ab_x", "daybook_0123456789äb_x"]
)
def test_what_is_no_key_has_no_id(text: str) -> None:
    assert id_of(text) is None


async def test_a_key_opens_its_tenant_with_the_widest_of_its_scopes(auth: Auth, make_key: MakeKey) -> None:
    for scopes in ((Access.READ, Access.WRITE), (Access.WRITE, Access.READ)):
        secret = await make_key("acme", *scopes)
        caller = await auth.caller(asking(secret))
        assert (caller.tenant, caller.access, caller.key) == ("acme", Access.WRITE, id_of(secret))


async def test_a_key_with_the_id_of_another_is_refused(auth: Auth, make_key: MakeKey) -> None:
    secret = await make_key("acme", Access.ADMIN)
    forged = f"daybook_{id_of(secret)}_{new_secret().split('_', 2)[2]}"
    assert await access_of(auth, secret) is Access.ADMIN
    assert await access_of(auth, forged) is None
    assert await access_of(auth, secret[:-1]) is None


async def test_a_revoked_key_is_refused_once_it_is_no_longer_believed(
    auth: Auth, make_key: MakeKey, key_store: KeyStore, clock: HandClock
) -> None:
    secret = await make_key("acme", Access.READ)
    assert await access_of(auth, secret) is Access.READ
    await key_store.revoke(id_of(secret) or "", None)
    clock.time = NOW + BELIEVED - timedelta(milliseconds=1)
    assert await access_of(auth, secret) is Access.READ
    clock.time = NOW + BELIEVED
    assert await access_of(auth, secret) is None


async def test_a_key_expires_to_the_moment_although_it_is_remembered(
    auth: Auth, make_key: MakeKey, clock: HandClock
) -> None:
    secret = await make_key("acme", Access.READ, expires_at=NOW + timedelta(seconds=5))
    assert await access_of(auth, secret) is Access.READ
    clock.time = NOW + timedelta(seconds=5)
    assert await access_of(auth, secret) is None


async def test_only_so_many_keys_are_remembered(auth: Auth, make_key: MakeKey, key_store: KeyStore) -> None:
    secrets = [await make_key("acme", Access.READ) for _ in range(3)]
    for secret in secrets:
        await access_of(auth, secret)
        await key_store.revoke(id_of(secret) or "", None)
    assert [await access_of(auth, secret) for secret in reversed(secrets)] == [Access.READ, Access.READ, None]


async def test_the_first_key_ends_local_mode_for_ever(
    auth: Auth, make_key: MakeKey, key_store: KeyStore, clock: HandClock
) -> None:
    assert await auth.caller(Headers({"host": "localhost:8000"})) == LOCAL
    secret = await make_key("acme", Access.ADMIN)
    clock.time = NOW + BELIEVED
    assert await access_of(auth, "") is None
    await key_store.revoke(id_of(secret) or "", None)
    clock.time = NOW + 2 * BELIEVED
    assert await access_of(auth, "") is None


async def test_who_sends_the_first_key_at_once_is_in_its_tenant_and_ends_local_mode(
    auth: Auth, make_key: MakeKey
) -> None:
    headers = Headers({"host": "localhost:8000"})
    assert await auth.caller(headers) == LOCAL
    secret = await make_key("acme", Access.WRITE)
    assert await auth.caller(headers) == LOCAL  # as was just looked
    assert (await auth.caller(asking(secret))).tenant == "acme"
    with pytest.raises(Unauthorized):
        await auth.caller(headers)


@pytest.mark.parametrize(
    "host", ["", "localhost:80", "a:80", "a.localhost", "127.0.0.1:80", "[::1]:80", "[::ffff:1.2.3.4]"]
)
def test_an_address_or_a_name_without_a_dot_is_the_service_s_own(host: str) -> None:
    assert is_own_host(host)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.example"])
def test_a_name_that_a_stranger_may_own_is_not(host: str) -> None:
    assert not is_own_host(host)


async def test_in_local_mode_a_page_of_another_site_asks_for_no_work_unless_it_is_named(
    start_service: StartService,
) -> None:
    async with start_service(http={"origins": "https://named.example"}) as service:
        await service.append("s", {"role": "user", "content": "Hello"})
        statuses = [
            (await service.client.post("/sessions/s/memory/observe", headers=headers)).status_code
            for headers in (
                {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
                {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
                {"Origin": "https://named.example", "Sec-Fetch-Site": "cross-site"},
                {"Origin": service.url, "Sec-Fetch-Site": "same-origin"},
            )
        ]
        followed = await service.client.get("/sessions", headers={"Sec-Fetch-Site": "cross-site"})  # a link
    assert (statuses, followed.status_code) == ([403, 403, 202, 202], 200)


async def test_in_local_mode_a_page_that_had_its_name_lead_here_is_refused(service: Service) -> None:
    answer = await service.client.get("/sessions", headers={"Host": "evil.example"})
    assert "evil.example" in assert_problem(answer, 403, "forbidden")["detail"]
    assert (await service.client.get("/sessions")).status_code == 200


async def test_a_clock_that_was_set_back_lets_no_revoked_key_in(
    auth: Auth, key_store: KeyStore, clock: HandClock, make_key: MakeKey
) -> None:
    secret = await make_key("acme", Access.READ)
    assert await access_of(auth, secret) is Access.READ
    await key_store.revoke(id_of(secret) or "", None)
    clock.time = NOW - timedelta(days=1)
    assert await access_of(auth, secret) is None


async def test_keys_that_are_gone_while_a_backup_is_restored_open_nothing(
    auth: Auth, clock: HandClock, make_key: MakeKey, database_url: str
) -> None:
    secret = await make_key("acme", Access.READ)
    assert await access_of(auth, secret) is Access.READ
    connection = await asyncpg.connect(database_url)
    await connection.execute("DELETE FROM api_keys")
    await connection.close()
    clock.time = NOW + timedelta(minutes=1)
    assert await access_of(auth, secret) is None
    assert await access_of(auth, "") is None


async def test_without_loopback_there_is_no_local_mode(key_store: KeyStore, clock: HandClock) -> None:
    auth = Auth(AuthConfig(loopback=False), store=key_store, clock=clock)
    assert await access_of(auth, "") is None


async def test_a_bootstrap_key_is_an_admin_s_beside_the_others(
    key_store: KeyStore, clock: HandClock, make_key: MakeKey
) -> None:
    auth = Auth(AuthConfig(bootstrap_key="a-key-of-sixteen-or-more"), store=key_store, clock=clock)
    assert await auth.caller(asking("a-key-of-sixteen-or-more")) == BOOTSTRAP
    assert await access_of(auth, "a-key-of-sixteen-or-mor") is None
    assert await access_of(auth, await make_key("acme", Access.READ)) is Access.READ


async def test_the_last_use_is_written_behind_and_never_moved_back(
    auth: Auth, make_key: MakeKey, key_store: KeyStore, clock: HandClock
) -> None:
    secret = await make_key("acme", Access.READ)
    noted = []
    for seconds in (2, 1, 3):
        clock.time = NOW + timedelta(seconds=seconds)
        await access_of(auth, secret)
        noted.append((await key_store.listed("acme"))[0].last_used_at)
        await auth.note_used()
    two = NOW + timedelta(seconds=2)
    assert noted == [None, two, two]


async def test_a_key_is_stored_as_its_hash_only(make_key: MakeKey, database_url: str) -> None:
    secret = await make_key("acme", Access.READ)
    connection = await asyncpg.connect(database_url)
    row = await connection.fetchval("SELECT api_keys::text FROM api_keys")
    await connection.close()
    assert hashed(secret).hex() in row
    assert secret.split("_", 2)[2] not in row


async def test_a_use_that_could_not_be_written_is_written_later(
    database_url: str, clock: HandClock, make_key: MakeKey, key_store: KeyStore
) -> None:
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    auth = Auth(AuthConfig(), store=KeyStore(database), clock=clock)
    assert await access_of(auth, await make_key("acme", Access.READ)) is Access.READ
    await database.close()
    await auth.note_used()
    await database.open()
    await auth.note_used()
    await database.close()
    assert [key.last_used_at for key in await key_store.listed("acme")] == [NOW]


async def test_a_service_that_asked_for_no_key_at_its_start_asks_for_none_while_the_database_is_away(
    database_url: str, clock: HandClock
) -> None:
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    auth = Auth(AuthConfig(), store=KeyStore(database), clock=clock)
    await auth.start()
    await database.close()
    clock.time = NOW + timedelta(days=1)
    assert await auth.caller(Headers({"host": "localhost:8000"})) == LOCAL
    await auth.stop()


async def test_a_key_that_was_gone_is_not_known_again_while_the_database_is_away(
    database_url: str, clock: HandClock, make_key: MakeKey
) -> None:
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    auth = Auth(AuthConfig(), store=KeyStore(database), clock=clock)
    secret = await make_key("acme", Access.READ)
    assert await access_of(auth, secret) is Access.READ
    await database.execute("DELETE FROM api_keys")
    clock.time = NOW + timedelta(minutes=1)
    assert await access_of(auth, secret) is None
    await database.close()
    with pytest.raises(asyncpg.InterfaceError):
        await auth.caller(asking(secret))


async def test_while_the_database_is_away_who_is_known_stays_known(
    database_url: str, clock: HandClock, make_key: MakeKey
) -> None:
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    auth = Auth(AuthConfig(), store=KeyStore(database), clock=clock)
    secret = await make_key("acme", Access.READ)
    assert await access_of(auth, secret) is Access.READ
    await database.close()
    clock.time = NOW + timedelta(days=1)
    assert await access_of(auth, secret) is Access.READ
    with pytest.raises(asyncpg.InterfaceError):
        await auth.caller(asking(new_secret()))

"""What a connection of the pool asks the server about types, and how often."""

import asyncpg

from app.kit.driver import OWN_TYPES_END, PooledConnection, prepare


async def test_of_postgres_s_own_types_the_server_is_asked_once_in_a_process(database_url: str) -> None:
    for _ in range(2):
        asked: list[str] = []
        connection = await asyncpg.connect(database_url, connection_class=PooledConnection)
        with connection.query_logger(lambda record, asked=asked: asked.append(record.query)):
            await prepare(connection)
        assert await connection.fetchval("SELECT $1::jsonb[]", [{"a": 1}, {}]) == [{"a": 1}, {}]
        assert await connection.fetchval("SELECT $1::uuid[]", []) == []
        await connection.close()
    assert [query.strip(" ;").split()[0] for query in asked] == ["BEGIN", "ROLLBACK"]


async def test_of_a_type_that_somebody_made_each_connection_asks(database_url: str) -> None:
    """Its number may be another's in another database, or after it was dropped."""
    for name, values in (("mood", ["glad"]), ("size", ["wide"])):
        connection = await asyncpg.connect(database_url, connection_class=PooledConnection)
        await connection.execute(f"CREATE TYPE {name} AS ENUM ('{values[0]}')")
        assert await connection.fetchval(f"SELECT ARRAY['{values[0]}']::{name}[]") == values
        await connection.execute(f"DROP TYPE {name}")
        await connection.close()
    assert all(max(of) < OWN_TYPES_END for of in PooledConnection._own_types)

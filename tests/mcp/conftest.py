"""The fixtures for keys of tenants, from the tests of keys."""

from tests.keys.conftest import key_store, make_key

__all__ = ["key_store", "make_key"]

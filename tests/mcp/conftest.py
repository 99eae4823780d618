"""Keys of tenants, as the tests of the keys make them."""

from tests.keys.conftest import key_store, make_key

__all__ = ["key_store", "make_key"]

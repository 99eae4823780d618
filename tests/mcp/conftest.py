"""The fixtures for keys of tenants, from the tests of keys, and for lines of the log, from those of journeys."""

from tests.journeys.conftest import lines
from tests.keys.conftest import key_store, make_key

__all__ = ["key_store", "lines", "make_key"]

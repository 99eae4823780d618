"""What a caller can know of its prompt cache: the epoch, the hash and the size of the prefix."""

from collections.abc import Sequence
from hashlib import sha256

from app.context.draft import Tail
from app.context.model import Cache, Snapshot


def cache(snapshot: Snapshot, tail: Tail, *, units: Sequence[bytes], stable_tokens: int) -> Cache:
    """``prefix_sha256`` is over the units of ``Rendered``, each ended by a line break, up to the end of the tail."""
    digest = sha256()
    for unit in units:
        digest.update(unit + b"\n")
    return Cache(epoch=epoch(snapshot, tail), prefix_sha256=digest.hexdigest(), stable_tokens=stable_tokens)


def epoch(snapshot: Snapshot, tail: Tail) -> str:
    """``version:anchor date:first seq of the tail``; within it each context extends the one before.

    While one group alone is over the budget its messages are cut evenly, and so again with each that joins it: the
    last seq then makes each such context an epoch of its own.
    """
    first = tail.stored[0].seq if tail.stored else snapshot.tail_from_seq
    ending = f":{snapshot.last_seq}" if tail.cut else ""
    return f"{snapshot.version}:{snapshot.anchor_date.isoformat()}:{first}{ending}"

"""``make bench-cache``: replay real conversations through a service, price them, write docs/bench-cache.*."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import httpx2
import orjson
import typer

from benchmarks.cache.conversations import DATA, Conversation, chosen
from benchmarks.cache.evidence import held
from benchmarks.cache.observer import observed, reflected
from benchmarks.cache.picture import draw
from benchmarks.cache.rates import ANTHROPIC
from benchmarks.cache.replay import Agent, Turn, replayed
from benchmarks.cache.report import as_json, markdown, tables
from benchmarks.cache.strategies import BASELINES, DAYBOOK
from benchmarks.cache.summary import SCHEMES, Replayed
from benchmarks.document import write_figures
from benchmarks.service import running_service
from benchmarks.terminal import progress_bar, show
from tests.model_server import ModelServer

DOCUMENT = Path(__file__).parents[2] / "docs" / "bench-cache.md"
CONVERSATIONS_PER_KIND, LANES = 6, 4
DRAWN_SCHEME = "Anthropic, 5 minutes"


def main(
    per_kind: Annotated[int, typer.Option(help="conversations of each kind")] = CONVERSATIONS_PER_KIND,
    every: Annotated[bool, typer.Option("--all", help="every conversation: an hour or two")] = False,  # noqa: FBT002 - typer's
    lanes: Annotated[int, typer.Option(help="conversations at once")] = LANES,
    kind: Annotated[str | None, typer.Option(help="longmemeval, locomo or tools; default: all")] = None,
    config: Annotated[list[str] | None, typer.Option(help="only these session configs, as JSON")] = None,
    write: Annotated[bool, typer.Option(help="write docs/bench-cache.*")] = True,  # noqa: FBT002 - typer's
) -> None:
    """What a conversation costs by turn, with Daybook and without."""
    if not DATA.is_dir():
        raise typer.BadParameter(f"the conversations are not here: {DATA.parent.name}/{DATA.name}")
    talks = [one for one in chosen(per_kind=None if every else per_kind) if kind in {None, one.kind}]
    configs = {f"daybook {text}": orjson.loads(text) for text in config} if config else DAYBOOK
    replays = replay_all(talks, configs, lanes=lanes)
    show(tables(replays), file_width=180)
    if write:
        write_all(replays)


def replay_all(talks: Sequence[Conversation], configs: Mapping[str, dict[str, Any]], *, lanes: int) -> list[Replayed]:
    """Every conversation by every strategy, the baselines first."""
    found = [baseline(talk, name) for talk in talks for name in BASELINES]
    with (
        ModelServer(observer=observed, reflector=reflected) as server,
        running_service(_led_to(server)) as http,
        progress_bar() as progress,
        ThreadPoolExecutor(lanes) as pool,
    ):
        total = sum(len(list(talk.calls)) for talk in talks) * len(configs)
        task = progress.add_task("replaying", total=total)

        def replay(of: tuple[Conversation, str]) -> Replayed:
            return daybook(http, *of, configs[of[1]], lambda _: progress.advance(task))

        return found + list(pool.map(replay, product(talks, configs)))  # if one fails, no other begins


def _led_to(server: ModelServer) -> dict[str, str]:
    """The settings of a service whose memory calls ``server``."""
    return {
        **server.environment(),
        "DAYBOOK_PROVIDER": ANTHROPIC.provider.value,
        "DAYBOOK_OBSERVER__MODEL": ANTHROPIC.memory,
        "DAYBOOK_REFLECTOR__MODEL": ANTHROPIC.memory,
    }


def baseline(talk: Conversation, name: str) -> Replayed:
    return _ended(talk, name, [Turn(request=request) for request in BASELINES[name](talk)])


def daybook(
    http: httpx2.Client, talk: Conversation, name: str, config: dict[str, Any], on_turn: Callable[[Turn], None]
) -> Replayed:
    return _ended(talk, name, replayed(Agent(http, uuid4().hex), talk, config, on_turn=on_turn))


def _ended(talk: Conversation, name: str, turns: Sequence[Turn]) -> Replayed:
    found = held(talk, turns[-1].request.blocks)
    return Replayed(conversation=talk, strategy=name, turns=tuple(turns), held=tuple(found))


def write_all(replays: Sequence[Replayed]) -> None:
    """Write the figures into the document and as JSON, and a picture of the first conversation."""
    first = replays[0].conversation
    title = f"{first.kind} {first.name}: {SCHEMES[DRAWN_SCHEME].models.actor}, {DRAWN_SCHEME}"
    own = [one for one in replays if one.conversation.name == first.name]
    draw(own, SCHEMES[DRAWN_SCHEME], title=title, path=DOCUMENT.with_suffix(".svg"))
    write_figures(DOCUMENT, markdown(replays), as_json(replays))


if __name__ == "__main__":
    typer.run(main)

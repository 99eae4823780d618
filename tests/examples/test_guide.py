"""The guide's snippets are one program, run against the service; what it prints is what the guide says."""

import re
import sys
from pathlib import Path

from tests.examples.conftest import ROOT, Run

GUIDE = ROOT / "docs" / "guide.md"
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
END = "\x1e"  # of what one snippet printed


async def test_the_guide_runs_as_printed(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "guide.py"
    snippets = [text for language, text in BLOCKS if language == "python"]
    program.write_text("".join(f"{snippet}\nprint({END!r}, end='')\n" for snippet in snippets))

    told = (await run(sys.executable, program)).split(END)[:-1]

    assert len(told) == len(snippets)
    # The first defines what the others use, and prints nothing.
    assert ["", *(text for language, text in BLOCKS if language == "text")] == told

"""A process that is killed in the middle of a change: what was done before is there, and the index goes on."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.memory.engines.crash_writer import ids_of
from tests.integrations.memory.engines.kinds import IN_FILES, Both
from tests.lengths import LONG


@pytest.mark.parametrize("kind", IN_FILES)
@pytest.mark.parametrize("changes", [1, 4, 9] if LONG else [4])
def test_what_was_done_before_a_kill_is_there_and_nothing_strange(kind: str, changes: int, tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.integrations.memory.engines.crash_writer", kind, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    done = -1
    while done < changes:
        done = int(writer.stdout.readline())
    # Somewhere within the next change.
    for _ in range(random.Random(changes).randrange(200_000)):
        pass
    writer.kill()
    rest = writer.stdout.read().split()
    writer.wait()
    done = int(rest[-1]) if rest else done

    both = Both(kind, tmp_path)

    before = {id_ for number in range(max(0, done - 4), done + 1) for id_ in ids_of(number)}
    after = {id_ for number in range(max(0, done - 3), done + 2) for id_ in ids_of(number)}
    assert both.ids() - before - after == set()
    assert before & after <= both.ids()
    # Where a change is not one, both halves of it can be met.
    assert both.ids() in (before, after) or kind == "chroma"
    both.put(ids_of(done + 1), removed=[id_ for id_ in both.ids() if id_ not in after])
    assert both.ids() == after
    wanted = ids_of(done)[3]
    assert both.find(wanted)[0] == wanted
    both.close()
    again = Both(kind, tmp_path)
    assert again.ids() == after
    again.close()

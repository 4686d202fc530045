"""kill -9 while a memory is tidied up: it is tidied up, or as it was; the next run does the rest."""

from __future__ import annotations

import random
import time
from pathlib import Path
from subprocess import PIPE

from hub.memory.markdown import passages
from tests.agent.tidy.child import NO_SERVER
from tests.agent.tidy.house import TidyHouse, entry, tidying
from tests.lengths import rounds
from tests.servers.forked import ForkedProcess

KILLS = rounds(8, 3)
FILES = ("MEMORY.md", "memory/people/me.md", "memory/shared.md")
LIMIT_S = 60.0


def a_mess(house: TidyHouse) -> None:
    for number, path in enumerate(FILES):
        house.write(path, f"# x\n\n{entry(f'Thing {number} is blue', 5)}{entry(f'thing {number} is blue!', 4)}")


def killed_after(folder: Path, delay_s: float) -> None:
    """Begin to tidy up in another process, and kill it a moment later."""
    process = ForkedProcess("tests.agent.tidy.child", str(folder), stdout=PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    time.sleep(delay_s)
    process.kill()
    process.wait(timeout=LIMIT_S)
    process.stdout.close()


def struck_in(house: TidyHouse) -> list[int]:
    return [sum(each.struck for each in passages(house.read(path))) for path in FILES]


async def test_a_kill_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        a_mess(TidyHouse(folder / "home", NO_SERVER))

        killed_after(folder, chance.uniform(0, 0.06))

        async with tidying(folder, NO_SERVER) as house:
            await house.notes.sync(agent_id="main")
            assert struck_in(house) in ([0, 0, 0], [1, 1, 1])
            assert not list(house.workspace.rglob(".homarus-*"))
            await house.tidy()
            assert struck_in(house) == [1, 1, 1]
            assert len(await house.changes()) == 1

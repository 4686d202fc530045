"""Agents with subagents in a process that tests kill: `python -m tests.agent.subagents.delegating_child HOME BASE_URL`.

It says `open` and how many subagents it found interrupted. A line `spawn` on its standard input gives thirty tasks away
and says `spawned`; then it says `ended` and a number whenever another subagent has ended. A line `report` waits until
every result was heard, and writes as JSON what each conversation heard; then it ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.agent.house import MAIN
from tests.agent.subagents.test_subagents import ANNAS, Delegating

KEYS = (MAIN, ANNAS)
TASKS = 30
SETTINGS = {"max_children": 20}


async def spawn(post: Delegating) -> None:
    """Give every second task as quick work, in turn from both conversations."""
    for key in KEYS:
        await post.sessions.ensure(key)
    for number in range(TASKS):
        await post.spawn(f"{('quick', 'slow')[number // 2 % 2]} work {number}", KEYS[number % 2], label=f"n{number}")


async def serve(home: Path, base_url: str) -> None:
    """Do what the lines say."""
    post = Delegating(home, base_url, subagents=SETTINGS)
    ended = [0]

    def count(_: object) -> None:
        ended[0] += 1
        print("ended", ended[0], flush=True)

    post.bus.listen("subagent_ended", count)
    post.lanes.set_limits({"subagent:main": TASKS})
    await post.open()
    post.lanes.set_limits({"subagent:main": TASKS})
    print("open", post.interrupted, flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode().strip():
        if line == "spawn":
            await spawn(post)
            print("spawned", flush=True)
            continue
        await post.until(lambda: all(each.announced_ms for key in KEYS for each in post.subagents.below(key)))
        await post.until(lambda: not post.runner.active())
        print(json.dumps({key: post.heard(key) for key in KEYS}), flush=True)
        break
    await post.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2]))

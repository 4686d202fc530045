"""Tidying up in a process of its own, for tests that kill it: `python -m tests.agent.tidy.child FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.agent.tidy.house import tidying

NO_SERVER = "http://127.0.0.1:9/v1"


async def main() -> None:
    """Say ready, tidy up once, and say done."""
    async with tidying(Path(sys.argv[1]), NO_SERVER) as house:
        print("ready", flush=True)
        await house.tidy()
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main())

"""Starts a module of this program in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}


async def start_module(name: str, *, line_limit_bytes: int = 65_536) -> asyncio.subprocess.Process:
    """Start a module, with pipes to it, in a session of its own; it gets none of the hub's variables, which have keys.

    Args:
        name: The module.
        line_limit_bytes: The longest line that is read from it.
    """
    temporary = {"TMPDIR": os.environ["TMPDIR"]} if "TMPDIR" in os.environ else {}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", name),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**_ENVIRONMENT, **temporary},
        cwd=os.sep,
        start_new_session=True,
        limit=line_limit_bytes,
    )

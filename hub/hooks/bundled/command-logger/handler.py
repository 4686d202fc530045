"""Writes each slash command to `logs/commands.log`; `HOME` is the home directory, given by the hub."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SIZE_LIMIT_BYTES = 5_000_000


async def command(payload: Any) -> None:
    """Log a command."""
    told = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "command": payload.name,
        "session_key": payload.session_key,
        "agent": payload.agent_id,
        "channel": payload.channel,
        "sender": payload.sender,
        "owner": payload.from_owner,
    }
    await asyncio.to_thread(_write, _log(), json.dumps(told, ensure_ascii=False) + "\n")


def _log() -> Path:
    home: Path = globals()["HOME"]
    return home / "logs" / "commands.log"


def _write(path: Path, line: str) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if path.exists() and path.stat().st_size > SIZE_LIMIT_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        file.write(line)

"""Runs the making of a plan in a process of its own: a large folder must not hold up the hub's conversations."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from hub.core.errors import HubError, TimedOut
from hub.core.module_process import start_module
from hub.core.phrases import Phrase, phrase
from hub.migrate.plan import Move, decoded
from hub.migrate.uploads import ROOM

MODULE = "hub.migrate.cli.worker"
LIMIT_S = 600.0
SOURCES = ("home-assistant", "openclaw", "claude", "chatgpt")
FOLDERS = ("home-assistant", "openclaw")
"""Sources that are a folder, or an archive of it."""
ROOM_PREFIX = "unpacked-"


class MoveJob(Struct, frozen=True):
    """What to plan.

    Attributes:
        path: The folder or file, absolute.
        home: The home directory.
        secrets: Whether passwords, keys and tokens come along.
        switched_off: Whether automations come switched off.
        agent: The agent that gets conversations.
        stage: A folder for the messages of conversations; empty to count them only.
        room: A folder into which an archive is unpacked meanwhile; empty when there is none to unpack.
    """

    source: Literal["home-assistant", "openclaw", "claude", "chatgpt"]
    path: str
    home: str
    secrets: bool = False
    switched_off: bool = False
    agent: str = "main"
    stage: str = ""
    room: str = ""


class Answer(Struct, frozen=True):
    """What the process answers."""

    move: Move | None = None
    code: str = ""
    message: Phrase = Phrase("")


async def make_plan(job: MoveJob) -> Move:
    """Return the plan of a job, made in a process.

    Raises:
        HubError: It cannot be made; the message says why.
        TimedOut: It took longer than ten minutes.
    """
    job = msgspec.structs.replace(job, room=await asyncio.to_thread(_room, job))
    try:
        told, complaints = await _ask(job)
    finally:
        if job.room:
            await asyncio.to_thread(shutil.rmtree, job.room, ignore_errors=True)
    try:
        answer = decoded(told, Answer)
    except ValueError:
        last = complaints.decode("utf-8", "replace").strip().splitlines()[-1:] or ["killed"]
        raise HubError(f"reading {job.path} ended early: {last[0][:300]}") from None
    if answer.move is None:
        raise next((kind for kind in _kinds(HubError) if kind.code == answer.code), HubError)(answer.message)
    return answer.move


async def _ask(job: MoveJob) -> tuple[bytes, bytes]:
    process = await start_module(MODULE)
    try:
        async with asyncio.timeout(LIMIT_S):
            return await process.communicate(msgspec.json.encode(job))
    except TimeoutError:
        raise TimedOut(phrase("reading {path} took longer than ten minutes", path=job.path)) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _room(job: MoveJob) -> str:
    if job.source not in FOLDERS or not Path(job.path).is_file():
        return ""
    room = Path(job.home) / ROOM
    room.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.mkdtemp(prefix=ROOM_PREFIX, dir=room)


def _kinds(kind: type[HubError]) -> list[type[HubError]]:
    from hub.core import errors

    return [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, kind)]

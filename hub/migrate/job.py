"""Runs the making of a plan in a process of its own: a large folder must not hold up the hub's conversations."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal

import msgspec
from msgspec import Struct

from hub.core.errors import HubError, TimedOut
from hub.core.module_process import start_module
from hub.core.phrases import Phrase, phrase
from hub.migrate.plan import Move, decoded

MODULE = "hub.migrate.cli.worker"
LIMIT_S = 600.0
SOURCES = ("home-assistant", "openclaw", "claude", "chatgpt")


class MoveJob(Struct, frozen=True):
    """What to plan.

    Attributes:
        path: The folder or file, absolute.
        home: The home directory.
        secrets: Whether passwords, keys and tokens come along.
        switched_off: Whether automations come switched off.
        agent: The agent that gets conversations.
        stage: A folder for the messages of conversations; empty to count them only.
    """

    source: Literal["home-assistant", "openclaw", "claude", "chatgpt"]
    path: str
    home: str
    secrets: bool = False
    switched_off: bool = False
    agent: str = "main"
    stage: str = ""


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
    process = await start_module(MODULE)
    try:
        async with asyncio.timeout(LIMIT_S):
            told, complaints = await process.communicate(msgspec.json.encode(job))
    except TimeoutError:
        raise TimedOut(phrase("reading {path} took longer than ten minutes", path=job.path)) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    try:
        answer = decoded(told, Answer)
    except msgspec.MsgspecError:
        last = complaints.decode("utf-8", "replace").strip().splitlines()[-1:] or ["killed"]
        raise HubError(f"reading {job.path} ended early: {last[0][:300]}") from None
    if answer.move is None:
        raise next((kind for kind in _kinds(HubError) if kind.code == answer.code), HubError)(answer.message)
    return answer.move


def _kinds(kind: type[HubError]) -> list[type[HubError]]:
    from hub.core import errors

    return [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, kind)]

"""Makes the plan of a job: which source it is, and what it asks for; blocks."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import astuple

from hub.config.sections import Sections
from hub.core.phrases import phrase
from hub.migrate.archive import unpack
from hub.migrate.chats import plan_chats
from hub.migrate.draft import Draft
from hub.migrate.home_assistant.moving import plan_home_assistant
from hub.migrate.job import MoveJob
from hub.migrate.openclaw.moving import plan_openclaw
from hub.migrate.plan import Move


def plan(job: MoveJob, sections: Sections) -> Move:
    """Return the plan of a job.

    Raises:
        NotFound: There is no such folder or file.
        InvalidRequest: It is not what the source says, or cannot be read.
    """
    path, home = Path(job.path), Path(job.home)
    stage = Path(job.stage) if job.stage else None
    if job.source in ("claude", "chatgpt"):
        return plan_chats(job.source, path, Draft(home, sections, job.source), job.agent, stage)
    left_out = 0
    if job.room:
        path, left_out = astuple(unpack(path, Path(job.room), job.source))
    if job.source == "openclaw":
        move = plan_openclaw(path, home, sections, secrets=job.secrets, switched_off=job.switched_off, stage=stage)
    else:
        move = plan_home_assistant(path, home, sections, secrets=job.secrets, switched_off=job.switched_off)
    if left_out:
        move.notes.append(
            phrase("Links and very large files do not come along; so many were left out: {count}", count=left_out)
        )
    move.path = job.path
    return move

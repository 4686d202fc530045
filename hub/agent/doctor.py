"""Check that each agent can read and write its workspace, and that no workspace is left over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hub.agent.agents import Agents
from hub.agent.workspace.workspace import SEEDED
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, error, warning


def _look(context: CheckContext) -> Iterator[Finding]:
    home = context.home.path
    agents = Agents(context.config.get("agents"), context.home).all()
    used = {Path(os.path.normpath(agent.workspace)) for agent in agents}
    for path in sorted(home.glob("workspace*")):
        if path.is_dir() and path not in used and any((path / name).is_file() for name in SEEDED):
            yield warning(
                "No agent uses this workspace: what is changed in it has no effect. Give it to an agent (workspace of "
                "agents in the configuration), or remove it.",
                str(path),
            )
    for agent in agents:
        path = Path(os.path.normpath(agent.workspace))
        where = f"{path} (agent {agent.id})"
        if path == home or path in home.parents or path == context.home.storage or context.home.storage in path.parents:
            yield error(
                "The workspace holds the hub's own files, which an agent must not reach. Give it a directory of its "
                "own, such as workspace.",
                where,
                context.command("check"),
            )
            continue
        if not path.exists():
            if path.is_symlink():
                yield error("The workspace is a broken link.", where, f"ls -l {path}")
            continue  # made when the agent first runs
        if not path.is_dir():
            yield error("The workspace is not a directory.", where, f"ls -ld {path}")
        elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            yield error("The workspace cannot be written.", where, f"chmod u+rwx {path}")
        else:
            for name in ("MEMORY.md", "memory"):
                if (path / name).exists() and not os.access(path / name, os.R_OK | os.W_OK):
                    yield warning("The agent cannot write its memory.", str(path / name), f"chmod u+rw {path / name}")


WORKSPACES = Check("workspaces", "Workspaces of the agents", _look)

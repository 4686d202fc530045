"""The extras of this project: packages that not every home needs."""

from __future__ import annotations

import os
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "script" / "setup"
"""Installs them from the lock; only a checkout has it."""


def can_install() -> bool:
    """Return whether the hub can install extras itself: it runs in a checkout that its user may write."""
    return SETUP.is_file() and os.access(SETUP.parents[1], os.W_OK)


def install_command(extra: str) -> str:
    """Return the command that installs an extra: in a checkout, an installed package, or the image of a container."""
    if not SETUP.is_file():
        return f"uv pip install 'homarus[{extra}]'"
    from hub.core.container import in_container

    if can_install() or not in_container():
        return f"script/setup --add {extra}"
    there = (SETUP.parents[1] / ".venv/homarus-extras").read_text(encoding="utf-8").split()
    return f"docker build --build-arg EXTRAS='{' '.join([*there, extra])}' --tag homarus ."

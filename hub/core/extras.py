"""The extras of this project: packages that not every home needs."""

from __future__ import annotations

from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "script" / "setup"
"""Installs them from the lock; only a checkout has it."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra, for a checkout or an installed package."""
    return f"script/setup --add {extra}" if SETUP.is_file() else f"uv pip install 'homarus[{extra}]'"

"""The extras of this project: packages that not every home needs."""

from __future__ import annotations

import os
import re
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "script" / "setup"
"""Installs them from the lock; only a checkout has it."""
_PACKAGE = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def locked_packages(extra: str | None) -> frozenset[str]:
    """Return the names of the packages of an extra, which the hub installs from its lock; none where it cannot."""
    if not extra or not can_install():
        return frozenset()
    import tomllib

    text = (SETUP.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)["project"]["optional-dependencies"].get(extra, ())
    return frozenset(package_name(each) for each in listed)


def package_name(requirement: str) -> str:
    """Return the name of a package in its normal form, without its version; empty if there is none."""
    match = _PACKAGE.match(requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


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

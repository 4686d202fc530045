"""Packages of npm that the tests try the hub with: installed by name, once, and kept out of the repository."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lengths import LONG

INSTALL_LIMIT_S = 600


def installed(package: str, version: str) -> Path:
    """Return the folder of a package; a long run installs it, every other one takes what a long run left.

    A run that has it not is skipped, and says so.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "homarus-tests" / "npm"
    prefix = cache / f"{package.replace('/', '+')}@{version}"
    folder = prefix / "node_modules" / package
    if (prefix / "complete").exists():
        return folder
    if not LONG:
        pytest.skip(f"{package} {version} is not installed; script/test --long installs it")
    npm = shutil.which("npm")
    assert npm is not None, "npm is missing, which installs the programs that these tests try"
    prefix.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(prefix), "--no-audit", "--no-fund", "--ignore-scripts"]
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of one run want the same
        if not (prefix / "complete").exists():
            subprocess.run([*command, f"{package}@{version}"], check=True, timeout=INSTALL_LIMIT_S, capture_output=True)
            (prefix / "complete").touch()
    return folder

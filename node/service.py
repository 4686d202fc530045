"""Starting the node with its machine: a systemd unit of the user, a launchd agent, a script of Termux:Boot."""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .backends.contract import Backend
from .home import NodeProblem

LABEL = "homarus-node"
MISUSED = 3
"""The exit code after which starting it again does not help."""


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """The installed files: a file, its mode, and the programs that register it."""

    path: Path
    text: str
    mode: int = 0o644
    commands: tuple[tuple[str, ...], ...] = ()


def service_file(backend: Backend, home: Path) -> ServiceFile:
    """Return what starts this node with its machine."""
    argv = _program(home)
    if backend.platform == "macos":
        path = Path.home() / f"Library/LaunchAgents/{LABEL}.plist"
        agent = {
            "Label": LABEL,
            "ProgramArguments": argv,
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "EnvironmentVariables": {"PATH": os.environ.get("PATH", os.defpath)},
            "StandardErrorPath": str(home / "node.log"),
        }
        loaded = (("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)),)
        return ServiceFile(path, plistlib.dumps(agent).decode(), commands=loaded)
    if backend.platform == "android":
        lines = ("#!/data/data/com.termux/files/usr/bin/sh", "termux-wake-lock", f"exec {shlex.join(argv)}")
        return ServiceFile(Path.home() / f".termux/boot/{LABEL}", "\n".join((*lines, "")), 0o700)
    unit = (
        "[Unit]",
        "Description=Node of a Homarus hub",
        "After=network-online.target graphical-session.target",
        "",
        "[Service]",
        f"ExecStart={' '.join(_quoted(each) for each in argv)}",
        "Restart=always",
        "RestartSec=5",
        f"RestartPreventExitStatus={MISUSED}",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    )
    path = _config_folder() / f"systemd/user/{LABEL}.service"
    known = (("systemctl", "--user", "daemon-reload"), ("systemctl", "--user", "enable", "--now", path.name))
    return ServiceFile(path, "\n".join(unit), commands=known)


def install(service: ServiceFile) -> None:
    """Write the file, and make it known.

    Raises:
        NodeProblem: It cannot be written, or the programs refuse.
    """
    try:
        service.path.parent.mkdir(parents=True, exist_ok=True)
        service.path.write_text(service.text, encoding="utf-8")
        service.path.chmod(service.mode)
        for command in service.commands:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            if done.returncode:
                raise NodeProblem(
                    f"{shlex.join(command)} failed: {done.stderr.strip()[:300]}; {service.path} is written"
                )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NodeProblem(f"{service.path} cannot be installed: {error}") from error


def _program(home: Path) -> list[str]:
    """Return what starts this very program again, on the node's directory."""
    if __package__ != "node":
        alone = shutil.which("homarus-node")
        return [*([alone] if alone else [sys.executable, "-m", str(__package__)]), "run", "--config", str(home)]
    # Within the full install the directory is `node` in the home directory.
    beside = Path(sys.executable).with_name("homarus")
    program = [str(beside)] if beside.exists() else [sys.executable, "-m", "hub"]
    return [*program, "node", "run", "--config", str(home.parent)]


def _config_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _quoted(word: str) -> str:
    """Quote a word as systemd reads it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'

"""A program as a service of its machine: systemd, launchd, Termux:Boot. The node's own, and what the hub's stands on.

Sources: systemd.unit(5), systemd.service(5), systemd.exec(5); launchd.plist(5); https://wiki.termux.com/wiki/Termux:Boot.
"""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .home import NodeProblem

LABEL = "homarus-node"
MISUSED = 3
"""The exit code after which starting it again does not help."""
SYSTEM_UNITS = Path("/etc/systemd/system")
BOOTED = Path("/run/systemd/system")
"""There while systemd runs the machine: sd_booted(3)."""
LIMIT_S = 120.0
LAST_WORDS = 500

Argv = tuple[str, ...]


class ServiceProblem(NodeProblem):
    """The service cannot be installed or controlled; the text says why."""


@dataclass(frozen=True, slots=True)
class MachineService:
    """A program as a service of this machine.

    Attributes:
        name: Its name there.
        file: Describes it to the machine.
        text: Of the file.
        user: Whose processes they are; None for those of whoever installs it.
        install, uninstall: The programs that do it, one after another.
        start, stop, restart, status, logs, follow: The program that does it; empty where nothing does.
        mode: Of the file.
    """

    name: str
    file: Path
    text: str
    user: str | None = None
    install: Sequence[Argv] = ()
    uninstall: Sequence[Argv] = ()
    start: Argv = ()
    stop: Argv = ()
    restart: Argv = ()
    status: Argv = ()
    logs: Argv = ()
    follow: Argv = ()
    mode: int = 0o644


def node_service(platform: str, home: Path) -> MachineService:
    """Return the service of the node whose directory is `home`."""
    argv = _program(home)
    if platform == "macos":
        return launchd(LABEL, argv, home / "node.log", {})
    if platform == "android":
        lines = ("#!/data/data/com.termux/files/usr/bin/sh", "termux-wake-lock", f"exec {shlex.join(argv)}", "")
        return MachineService(LABEL, Path.home() / f".termux/boot/{LABEL}", "\n".join(lines), mode=0o700)
    unit = (
        "[Unit]",
        "Description=Node of a Homarus hub",
        "After=network-online.target graphical-session.target",
        "",
        "[Service]",
        f"ExecStart={' '.join(quote_word(each) for each in argv)}",
        "Restart=always",
        "RestartSec=5",
        f"RestartPreventExitStatus={MISUSED}",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    )
    return systemd(LABEL, "\n".join(unit), None)


def systemd(name: str, text: str, user: str | None) -> MachineService:
    """Return a service for systemd.

    Args:
        name: Its name.
        text: The unit.
        user: Whose processes they are, for a unit of the system; None for a unit of the present user.
    """
    manager = ("systemctl",) if user is not None else ("systemctl", "--user")
    journal = ("journalctl", "--unit" if user is not None else "--user-unit", name)
    folder = SYSTEM_UNITS if user is not None else _config_folder() / "systemd/user"
    unit = f"{name}.service"
    return MachineService(
        name,
        folder / unit,
        text,
        user,
        [(*manager, "daemon-reload"), (*manager, "enable", "--now", unit)],
        [(*manager, "disable", "--now", unit)],
        (*manager, "start", unit),
        (*manager, "stop", unit),
        (*manager, "restart", unit),
        (*manager, "show", unit, "--property=ActiveState,SubState,MainPID,NRestarts,UnitFileState"),
        (*journal, "--lines=100", "--no-pager"),
        (*journal, "--lines=100", "--follow"),
    )


def launchd(name: str, argv: Sequence[str], log: Path, more: Mapping[str, Any]) -> MachineService:
    """Return a service for launchd, as an agent of the present user; `more` are further keys of its file."""
    file = Path.home() / f"Library/LaunchAgents/{name}.plist"
    domain = f"gui/{os.getuid()}"
    agent = {
        "Label": name,
        "ProgramArguments": list(argv),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "EnvironmentVariables": {"PATH": os.environ.get("PATH", os.defpath)},
        "StandardErrorPath": str(log),
        "StandardOutPath": str(log),
        **more,
    }
    return MachineService(
        name,
        file,
        plistlib.dumps(agent).decode(),
        None,
        [("launchctl", "bootstrap", domain, str(file))],
        [("launchctl", "bootout", f"{domain}/{name}")],
        ("launchctl", "kickstart", f"{domain}/{name}"),
        ("launchctl", "kill", "SIGTERM", f"{domain}/{name}"),
        ("launchctl", "kickstart", "-k", f"{domain}/{name}"),
        ("launchctl", "print", f"{domain}/{name}"),
        ("tail", "-n", "100", str(log)),
        ("tail", "-n", "100", "-F", str(log)),
    )


def runs_systemd() -> bool:
    """Return whether systemd runs this machine."""
    return BOOTED.is_dir() and shutil.which("systemctl") is not None


def install_service(service: MachineService) -> None:
    """Write the file, and make the service known to the machine.

    Raises:
        ServiceProblem: It cannot be written, or a program refuses.
    """
    try:
        service.file.parent.mkdir(parents=True, exist_ok=True)
        service.file.write_text(service.text, encoding="utf-8")
        service.file.chmod(service.mode)
    except OSError as error:
        raise ServiceProblem(f"{error.filename or service.file} cannot be written: {error.strerror}.") from error
    for each in service.install:
        run_program(each)


def uninstall_service(service: MachineService) -> None:
    """Stop the service, and take its file away.

    Raises:
        ServiceProblem: A program refuses.
    """
    for each in service.uninstall:
        run_program(each)
    service.file.unlink()


def service_state(service: MachineService) -> tuple[bool, str, dict[str, str]]:
    """Return whether the service runs, the same as a line for people, and what the manager says of it.

    Raises:
        ServiceProblem: The manager does not answer, or there is none.
    """
    if not service.status:
        raise ServiceProblem(_unmanaged(service))
    text = run_program(service.status)
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    found = {key.strip(): value.strip() for key, value in pairs}
    runs = found.get("ActiveState", found.get("state")) in ("active", "running")
    if "ActiveState" not in found:
        return runs, text.rstrip(), found
    again = f", started again {found['NRestarts']} times" if found.get("NRestarts", "0") != "0" else ""
    process = f", process {found['MainPID']}" if runs else ""
    line = f"{service.name} is {found['ActiveState']} ({found['SubState']}){process}{again}. {service.file}"
    return runs, line, found


def show_log(service: MachineService, *, follow: bool, as_json: bool) -> None:
    """Become the program that shows what the service printed.

    Raises:
        ServiceProblem: There is none.
    """
    argv = service.follow if follow else service.logs
    if not argv:
        raise ServiceProblem(_unmanaged(service))
    if as_json and argv[0] == "journalctl":
        argv = (*argv, "--output=json")
    sys.stdout.flush()
    try:
        os.execvp(argv[0], argv)  # noqa: S606  a program found on PATH
    except OSError as error:
        raise ServiceProblem(f"{argv[0]} cannot be started: {error.strerror}.") from error


def control_service(service: MachineService, verb: str) -> None:
    """Start, stop or restart the service; `verb` is one of these words.

    Raises:
        ServiceProblem: The manager refuses, or there is none.
    """
    argv: Argv = getattr(service, verb)
    if not argv:
        raise ServiceProblem(_unmanaged(service))
    run_program(argv)


def run_program(argv: Sequence[str]) -> str:
    """Run a program and return what it printed.

    Raises:
        ServiceProblem: It failed; the text has its last words.
    """
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServiceProblem(f"{shlex.join(argv)} failed: {error}.") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-LAST_WORDS:]
        raise ServiceProblem(f"{shlex.join(argv)} failed: {said or f'exit code {done.returncode}'}")
    return done.stdout


def quote_word(word: str) -> str:
    """Quote a word as systemd reads it: systemd.service(5), "Command lines"."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _unmanaged(service: MachineService) -> str:
    return f"{service.name} starts with the phone, by {service.file}; nothing else controls it there."


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

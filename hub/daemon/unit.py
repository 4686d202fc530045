"""How a hub is described to systemd and launchd: the file, and the programs that install, start and stop it.

Sources: systemd.unit(5), systemd.service(5), systemd.exec(5); launchd.plist(5).
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import pwd
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from hub.core.extras import SETUP

NAME = "homarus"
SYSTEM_UNITS = Path("/etc/systemd/system")
BOOTED = Path("/run/systemd/system")
"""There while systemd runs the machine: sd_booted(3)."""
FIRST_PAUSE_S, LAST_PAUSE_S, PAUSES = 2, 300, 8

Argv = tuple[str, ...]

# A hub runs programs for its agents in namespaces (bubblewrap), and may use any device that its user may.
_HARDENED = (
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "SystemCallArchitectures=native",
    "UMask=0077",
)
_HARDENED_SYSTEM = (
    "CapabilityBoundingSet=",
    "ProtectSystem=strict",
    "PrivateTmp=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
)


class MachineService(Struct, frozen=True):
    """A hub as a service of this machine.

    Attributes:
        name: Its name there.
        file: Describes it to the machine.
        text: Of the file.
        user: Whose processes they are; None for those of whoever installs it.
    """

    name: str
    file: Path
    text: str
    user: str | None
    install: Sequence[Argv]
    uninstall: Sequence[Argv]
    start: Argv
    stop: Argv
    restart: Argv
    status: Argv
    logs: Argv
    follow: Argv


def service_name(home: Path, usual: Path) -> str:
    """Return the name of the service of a home; the usual home's is the plain one."""
    if home == usual:
        return NAME
    words = re.sub(r"[^a-z0-9]+", "-", home.name.lower()).strip("-")
    return f"{NAME}-{words or 'home'}-{hashlib.sha256(str(home).encode()).hexdigest()[:6]}"


def systemd(name: str, home: Path, user: str | None) -> MachineService:
    """Return the service for systemd.

    Args:
        name: Its name.
        home: The home directory.
        user: Whose processes they are, for a unit of the system; None for a unit of the present user.
    """
    manager = ("systemctl",) if user is not None else ("systemctl", "--user")
    journal = ("journalctl", "--unit" if user is not None else "--user-unit", name)
    folder = SYSTEM_UNITS if user is not None else _config_folder() / "systemd/user"
    unit = f"{name}.service"
    linger: list[Argv] = [] if user is not None else [("loginctl", "enable-linger")]
    return MachineService(
        name,
        folder / unit,
        _unit(name, home, user),
        user,
        [(*manager, "daemon-reload"), (*manager, "enable", "--now", unit), *linger],
        [(*manager, "disable", "--now", unit)],
        (*manager, "start", unit),
        (*manager, "stop", unit),
        (*manager, "restart", unit),
        (*manager, "show", unit, "--property=ActiveState,SubState,MainPID,NRestarts,UnitFileState"),
        (*journal, "--lines=100", "--no-pager"),
        (*journal, "--lines=100", "--follow"),
    )


def launchd(name: str, home: Path) -> MachineService:
    """Return the service for launchd, as an agent of the present user."""
    file = Path.home() / f"Library/LaunchAgents/{name}.plist"
    domain, log = f"gui/{os.getuid()}", home / "logs/service.log"
    agent = {
        "Label": name,
        "ProgramArguments": list(_program(home)),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "Umask": 0o077,
        "EnvironmentVariables": {"PATH": os.environ.get("PATH", os.defpath)},
        "StandardErrorPath": str(log),
        "StandardOutPath": str(log),
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


def owner_of(home: Path) -> str:
    """Return the name of the user who owns a home; of the present user while there is none."""
    try:
        return pwd.getpwuid(home.stat().st_uid).pw_name
    except (OSError, KeyError):
        return pwd.getpwuid(os.getuid()).pw_name


def _unit(name: str, home: Path, user: str | None) -> str:
    of_system: list[str] = []
    if user is not None:
        # In a checkout, packages that an integration needs are installed while the hub runs.
        places = [home, *([SETUP.parents[1]] if SETUP.is_file() else [])]
        of_system = [
            f"User={user}",
            *_HARDENED_SYSTEM,
            f"ReadWritePaths={' '.join(_quoted(str(each)) for each in places)}",
            f"CacheDirectory={name}",
            f"Environment=XDG_CACHE_HOME=%C/{name}",
        ]
    lines = [
        "[Unit]",
        "Description=Homarus, a personal AI assistant",
        "Wants=network-online.target",
        "After=network-online.target",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={' '.join(map(_quoted, _program(home)))}",
        "Restart=on-failure",
        f"RestartSec={FIRST_PAUSE_S}",
        f"RestartSteps={PAUSES}",
        f"RestartMaxDelaySec={LAST_PAUSE_S}",
        "TimeoutStopSec=60",
        *_HARDENED,
        *of_system,
        "",
        "[Install]",
        f"WantedBy={'default' if user is None else 'multi-user'}.target",
        "",
    ]
    return "\n".join(lines)


def _program(home: Path) -> Argv:
    beside = Path(sys.executable).with_name(NAME)
    program = (str(beside),) if beside.exists() else (sys.executable, "-m", "hub")
    return (*program, "start", "--config", str(home))


def _config_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _quoted(word: str) -> str:
    """Quote a word as systemd reads it: systemd.service(5), "Command lines"."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'

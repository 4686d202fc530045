"""How a hub is described to systemd and launchd, by which it is a service of its machine (`node/service.py`)."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import sys
from dataclasses import replace
from pathlib import Path

from hub.update.record import base_environment
from node.service import Argv, MachineService, launchd, quote_word, systemd

NAME = "homarus"
FIRST_PAUSE_S, LAST_PAUSE_S, PAUSES = 2, 300, 8

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


def service_name(home: Path, usual: Path) -> str:
    """Return the name of the service of a home; the usual home's is the plain one."""
    if home == usual:
        return NAME
    words = re.sub(r"[^a-z0-9]+", "-", home.name.lower()).strip("-")
    return f"{NAME}-{words or 'home'}-{hashlib.sha256(str(home).encode()).hexdigest()[:6]}"


def hub_service(name: str, home: Path, user: str | None) -> MachineService:
    """Return the hub's service for systemd.

    Args:
        name: Its name.
        home: The home directory.
        user: Whose processes they are, for a unit of the system; None for a unit of the present user, which also runs
            while that user is not signed in.
    """
    service = systemd(name, _unit(name, home, user), user)
    return service if user is not None else replace(service, install=[*service.install, ("loginctl", "enable-linger")])


def hub_agent(name: str, home: Path) -> MachineService:
    """Return the hub's service for launchd, as an agent of the present user."""
    return launchd(name, _program(home), home / "logs/service.log", {"ThrottleInterval": 10, "Umask": 0o077})


def owner_of(home: Path) -> str:
    """Return the name of the user who owns a home; of the present user while there is none."""
    try:
        return pwd.getpwuid(home.stat().st_uid).pw_name
    except (OSError, KeyError):
        return pwd.getpwuid(os.getuid()).pw_name


def _unit(name: str, home: Path, user: str | None) -> str:
    of_system: list[str] = []
    if user is not None:
        # Packages that an integration needs, and later versions, are installed while the hub runs.
        base = base_environment()
        places = [home, base.parent if (base.parent / "script/setup").is_file() else base]
        of_system = [
            f"User={user}",
            *_HARDENED_SYSTEM,
            f"ReadWritePaths={' '.join(quote_word(str(each)) for each in places)}",
            f"CacheDirectory={name}",
            f"Environment=XDG_CACHE_HOME=%C/{name}",
        ]
    lines = [
        "[Unit]",
        "Description=Homarus, a personal AI assistant",
        "Wants=network-online.target",
        "After=network-online.target tailscaled.service",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={' '.join(map(quote_word, _program(home)))}",
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
    # Later versions are started from the environment that Homarus was installed into.
    python = base_environment() / "bin" / Path(sys.executable).name
    program = (str(python.with_name(NAME)),) if python.with_name(NAME).exists() else (str(python), "-m", "hub")
    return (*program, "start", "--config", str(home))

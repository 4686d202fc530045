"""Seeds a new home directory with the starter configuration; what exists is never overwritten."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hub.config.files import ROOT_FILE, SECRETS_FILE
from hub.core.bundled import find_bundled
from hub.core.errors import NotFound
from hub.storage.files import write_atomic

SEEDED = (ROOT_FILE, SECRETS_FILE, "automations.yaml", "scripts.yaml")
DEFAULT_ZONE = "UTC"

_ZONE_LINE = re.compile(r"^(  time_zone: ).*$", re.MULTILINE)


def starter_folder() -> Path:
    """Return the folder of the starter configuration: in the checkout, or inside the installed package.

    Raises:
        NotFound: It is in neither.
    """
    if (folder := find_bundled("config", ROOT_FILE)) is None:
        raise NotFound("the starter configuration is not there; the installation is not complete")
    return folder


def seed(home: str | os.PathLike[str], *, zone: str | None = None) -> list[str]:
    """Write the starter files that are missing into a home directory, which exists.

    A home that has a `configuration.yaml` gets nothing: its owner chose its content.

    Args:
        home: The directory.
        zone: Time zone to write into it; this machine's by default.

    Returns:
        The names of the files that were written.
    """
    target = Path(home)
    if (target / ROOT_FILE).exists() or (target / ROOT_FILE).is_symlink():
        return []
    written = []
    for name in reversed(SEEDED):
        if (target / name).exists() or (target / name).is_symlink():
            continue
        text = (starter_folder() / name).read_text(encoding="utf-8")
        if name == ROOT_FILE:
            text = _ZONE_LINE.sub(rf"\g<1>{zone or local_time_zone()}", text, count=1)
        write_atomic(target / name, text.encode())
        written.append(name)
    return sorted(written)


def local_time_zone() -> str:
    """Return the IANA name of this machine's time zone, or UTC when unknown."""
    candidates = [os.environ.get("TZ", "").lstrip(":")]
    with suppress(OSError, UnicodeDecodeError):
        candidates.append(Path("/etc/timezone").read_text(encoding="utf-8").strip())
    link = os.path.realpath("/etc/localtime")
    if "/zoneinfo/" in link:
        candidates.append(link.split("/zoneinfo/", 1)[1])
    return next((name for name in candidates if _is_zone(name)), DEFAULT_ZONE)


def _is_zone(name: str) -> bool:
    if not re.fullmatch(r"[A-Za-z0-9+_/-]{1,64}", name):
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True

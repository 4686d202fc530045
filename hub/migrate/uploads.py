"""The file that a browser sent to move in from: one at a time, in the home, until it was used. Blocks."""

from __future__ import annotations

import shutil
from pathlib import Path

from hub.core.errors import NotFound
from hub.core.phrases import phrase

UPLOADED = "uploaded"
"""Stands for the file where a path is expected."""
ROOM = Path(".storage", "moving_in")
"""For the file and for what is unpacked meanwhile; nothing in it outlives the hub's process."""
FOLDER = ROOM / "upload"
_NEW = "new"


def new_upload(home: Path) -> Path:
    """Return where to write a file, in a folder that only the hub's user may read; one from before is deleted."""
    forget_upload(home)
    folder = home / FOLDER
    folder.mkdir(mode=0o700, parents=True)
    return folder / _NEW


def keep_upload(home: Path) -> None:
    """Take the file that was written, under a name that says what it is."""
    path = home / FOLDER / _NEW
    with path.open("rb") as file:
        begin = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    path.rename(path.with_name("upload.json" if begin.startswith((b"[", b"{")) else "upload.zip"))


def uploaded_file(home: Path) -> Path:
    """Return the file.

    Raises:
        NotFound: There is none any more.
    """
    found = next((home / FOLDER).glob("upload.*"), None)
    if found is None:
        raise NotFound(phrase("The file is no longer here; send it again."))
    return found


def forget_upload(home: Path) -> None:
    """Delete it, if there is one."""
    shutil.rmtree(home / FOLDER, ignore_errors=True)

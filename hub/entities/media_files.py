"""The folders `media` and `www` of the home, where pictures and films are kept."""

from __future__ import annotations

from pathlib import Path

from hub.core.errors import InvalidRequest
from hub.core.executors import FILES
from hub.core.phrases import phrase
from hub.security.jail_path import components
from hub.security.root import Root

FOLDERS = {"media": "/media/local", "www": "/local"}
"""The folders, and the paths of the gateway that their files are at, as in Home Assistant."""
_THEIRS = {
    "/config/media/": "media",
    "/config/www/": "www",
    "/media/local/": "media",
    "/media/": "media",
    "/local/": "www",
}
"""What the folders are called in configurations that came from there."""


class MediaFiles:
    """The files.

    Args:
        home: The folder of the home.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def place(self, name: str) -> tuple[str, str]:
        """Return the folder of a file and its path there; a relative name is in `media`.

        Raises:
            InvalidRequest, PathRefused: It is elsewhere.
        """
        own = {f"{start}{folder}/": folder for folder in FOLDERS for start in (f"{self._home}/", "")}
        for prefix, folder in {**_THEIRS, **own}.items():
            if name.startswith(prefix):
                components(name.removeprefix(prefix))
                return folder, name.removeprefix(prefix)
        if name.startswith(("/", "~")):
            raise InvalidRequest(
                phrase(
                    "filename: {name} is not in the folder media or www of the home ({home}); write a name such as "
                    "snapshots/door.jpg",
                    name=name[:200],
                    home=str(self._home),
                )
            )
        components(name)
        return "media", name

    async def write(self, name: str, data: bytes) -> str:
        """Write a file, and return where it lies.

        Raises:
            InvalidRequest: The name leads elsewhere.
            OSError: It cannot be written.
        """
        folder, rel = self.place(name)
        root = Root(self._home / folder)
        await FILES.run(_write, root, rel, data)
        return str(root.path / rel)

    def root(self, folder: str) -> Root:
        """Return one of the folders."""
        return Root(self._home / folder)


def _write(root: Root, rel: str, data: bytes) -> None:
    root.path.mkdir(mode=0o700, exist_ok=True)
    root.write_bytes(rel, data, parents=True, executable=False)

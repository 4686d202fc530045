"""The sources of a skill or an integration on the command line: a folder, an archive, a URL or a git repository.

The caller's own programs and rights read folders and repositories; the hub gets a ZIP file, and judges what is in it.
"""

from __future__ import annotations

import base64
import io
import os
import re
import stat
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hub.cli.exits import CommandFailed, Exit

PACKED_LIMIT_BYTES = 16 * 1024 * 1024
ENTRIES_LIMIT = 5_000
CLONE_LIMIT_S = 120.0
LEFT_OUT = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".DS_Store"})

REGISTRY = re.compile(r"[a-z][a-z0-9_-]{1,63}:(?!//)@?[\w./@+-]+")
_GIT = re.compile(r"^(?:git\+)?(?:https|ssh)://[^\s?#]+\.git/?$|^git\+(?:https|ssh|file)://\S+$|^git@[\w.-]+:[\w./-]+$")
_REPOSITORY = re.compile(r"^https://(?:github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)/[\w.-]+/[\w.-]+/?$")


def install_params(source: str) -> dict[str, Any]:
    """Return the parameters of `skills.install` for a source.

    Raises:
        CommandFailed: It is none of those, or cannot be read.
    """
    if _GIT.match(source) or _REPOSITORY.match(source):
        return _cloned(source)
    if REGISTRY.fullmatch(source) and not Path(source).exists():
        return {"ref": source}
    if re.match(r"^https?://", source):
        return {"url": source}
    path = Path(source).expanduser().absolute()
    if path.is_dir():
        return _archive(_packed(path), {"kind": "folder", "source": str(path)})
    if path.is_file():
        if path.stat().st_size > PACKED_LIMIT_BYTES:
            raise CommandFailed(f"{path} is larger than {PACKED_LIMIT_BYTES} bytes", Exit.USAGE)
        return _archive(path.read_bytes(), {"kind": "zip", "source": str(path)})
    raise CommandFailed(f"There is no folder or file {source}, and it is not a URL", Exit.USAGE)


def _cloned(source: str) -> dict[str, Any]:
    """Clone a repository without executing anything from it, and pack its files."""
    url = source.removeprefix("git+")
    options = ("core.hooksPath=/dev/null", "protocol.ext.allow=never", "core.fsmonitor=false")
    flags = [part for option in options for part in ("-c", option)]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    with TemporaryDirectory() as folder:
        target = Path(folder) / (re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git") or "skill")
        clone = ["git", *flags, "clone", "--quiet", "--depth", "1", "--no-tags", "--", url, str(target)]
        try:
            subprocess.run(clone, check=True, capture_output=True, timeout=CLONE_LIMIT_S, env=environment)
            head = subprocess.run(
                ["git", "-C", str(target), "rev-parse", "HEAD"],
                check=True,
                capture_output=True,
                timeout=CLONE_LIMIT_S,
            )
        except FileNotFoundError as error:
            raise CommandFailed("git is not installed; download the repository as a ZIP file", Exit.FINDINGS) from error
        except subprocess.TimeoutExpired as error:
            raise CommandFailed(f"{url} was not cloned within {CLONE_LIMIT_S:g} s", Exit.FINDINGS) from error
        except subprocess.CalledProcessError as error:
            told = error.stderr.decode("utf-8", "replace").strip().splitlines()
            raise CommandFailed(
                f"{url} cannot be cloned: {told[-1] if told else 'git failed'}", Exit.FINDINGS
            ) from error
        origin = {"kind": "git", "source": source, "commit": head.stdout.decode().strip()}
        return _archive(_packed(target), origin)


def _archive(data: bytes, origin: dict[str, str]) -> dict[str, Any]:
    return {"archive": base64.b64encode(data).decode(), "origin": origin}


def _packed(folder: Path) -> bytes:
    """Return a folder as a ZIP file; symlinks stay symlinks, which the hub refuses."""
    packed = io.BytesIO()
    size = 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (path, status) in enumerate(_files(folder)):
            info = zipfile.ZipInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}")
            info.external_attr = status.st_mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            size += status.st_size
            if size > PACKED_LIMIT_BYTES or number >= ENTRIES_LIMIT:
                raise CommandFailed(f"{folder} is too large; choose one folder in it", Exit.USAGE)
            if stat.S_ISLNK(status.st_mode):
                archive.writestr(info, os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                archive.writestr(info, path.read_bytes())
    return packed.getvalue()


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for parent, folders, names in os.walk(folder):
        linked = [name for name in folders if (Path(parent) / name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        for name in sorted((*names, *linked)):
            if name not in LEFT_OUT:
                path = Path(parent) / name
                yield path, path.lstat()

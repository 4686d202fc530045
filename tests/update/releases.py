"""Releases of Homarus: tags in a real remote with a clone of it, or wheels in an index; small, or the real hub."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path

from hub.update.record import WHOLE, version_folder

REPOSITORY = Path(__file__).parents[2]
PARTS = ("hub", "integrations", "node", "web", "blueprints", "config")
IN_WHEEL = (*PARTS, "examples", "pyproject.toml", "README.md", "LICENSE")
ALONE = {"UV_NO_CONFIG": "1", "UV_OFFLINE": "1", "PIP_CONFIG_FILE": os.devnull}
"""Else packages of this machine's own configuration are found, too."""
PYTHON = Path(sys.base_prefix, f"bin/python{sys.version_info.major}.{sys.version_info.minor}")
# Like script/setup: makes .venv of the folder that it is in, here with the packages that the tests have.
SETUP = f"""#!/bin/sh
set -e
cd "$(dirname "$0")/.."
echo "script/setup: installing into .venv"
packages=.venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages
mkdir -p .venv/bin $packages
ln -sf "{PYTHON}" .venv/bin/python
echo "home = {PYTHON.parent}" > .venv/pyvenv.cfg
printf '%s\\n%s\\n' "$PWD" "{sysconfig.get_path("purelib")}" > $packages/homarus.pth
"""
BOOTSTRAP = "from hub import __version__\n"
MAIN = """
import json, sys
errors = {errors!r}
print(json.dumps({{"valid": not errors, "errors": errors, "warnings": []}}))
"""
ERROR = {"file": "configuration.yaml", "line": 3, "column": 1, "path": "hub.kettle", "message": "there is no kettle"}


class Project:
    """The upstream of Homarus, and what its maintainers do.

    Args:
        folder: For the remote, the maintainers' clone, and the household's.
        real: Whether it is the real hub, or a few lines that take its place.
    """

    def __init__(self, folder: Path, *, real: bool = False) -> None:
        self.remote, self.work, self.checkout = folder / "remote.git", folder / "work", folder / "checkout"
        self.real = real
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.remote))
        git(folder, "clone", "--quiet", str(self.remote), str(self.work))
        for name in PARTS if real else ():
            ignored = shutil.ignore_patterns("__pycache__", "frontend")
            shutil.copytree(REPOSITORY / name, self.work / name, ignore=ignored)
        (self.work / "script").mkdir()
        (self.work / "script/setup").write_text(SETUP)
        (self.work / "script/setup").chmod(0o755)
        (self.work / ".gitignore").write_text("/.venv/\n__pycache__/\n")

    def release(
        self,
        version: str,
        *,
        notes: str = "",
        files: dict[str, str] | None = None,
        broken: str = "",
        errors: Sequence[object] = (),
    ) -> None:
        """Tag a version.

        Args:
            notes: Of the changelog.
            files: Texts by path, over what there is.
            broken: Code that the start of the small one runs.
            errors: Of the small one's check.
        """
        changelog = self.work / "CHANGELOG.md"
        old = changelog.read_text().removeprefix("# Changelog\n") if changelog.exists() else ""
        changelog.write_text(f"# Changelog\n\n## {version} (2026-11-29)\n\n{notes or version}\n{old}")
        if not self.real:
            package = self.work / "hub"
            package.mkdir(exist_ok=True)
            (package / "bootstrap.py").write_text(BOOTSTRAP + broken)
            (package / "__main__.py").write_text(MAIN.format(errors=list(errors)))
        init = self.work / "hub/__init__.py"
        init.write_text(f'"""The hub."""\n\n__version__ = "{version}"\n')
        for name, text in (files or {}).items():
            (self.work / name).write_text(text)
        git(self.work, "add", "--all")
        git(self.work, "commit", "--quiet", "--allow-empty", "--message", version)
        git(self.work, "tag", "--annotate", f"v{version}", "--message", f"Homarus {version}")
        git(self.work, "push", "--quiet", "origin", "HEAD:main", f"v{version}")

    def clone(self, version: str) -> Path:
        """Make the household's clone at a version, with its environment; return that."""
        git(self.work.parent, "clone", "--quiet", str(self.remote), str(self.checkout))
        git(self.checkout, "checkout", "--quiet", f"v{version}")
        subprocess.run([self.checkout / "script/setup"], check=True, capture_output=True)
        return self.checkout / ".venv"


class PackageIndex:
    """A folder in the place of a package index: wheels of Homarus, and empty ones of all that it needs.

    Args:
        folder: For the wheels, and for an environment.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._wheels = folder, folder / "wheels"
        self._wheels.mkdir()
        for name, version in {str(each.metadata["Name"]): each.version for each in distributions()}.items():
            if name != "homarus":
                self._stand_in(name, version)

    def release(self, version: str, *, notes: str = "", files: dict[str, str] | None = None) -> None:
        """Build a wheel of this tree and publish it; see `Project.release`."""
        tree = self._folder / version
        listed = git(REPOSITORY, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *IN_WHEEL)
        for name in filter(None, listed.split("\0")):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, tree / name)
        (tree / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version} (2026-11-29)\n\n{notes or version}\n")
        (tree / "hub/__init__.py").write_text(f'"""The hub."""\n\n__version__ = "{version}"\n')
        for name, text in (files or {}).items():
            (tree / name).write_text(text)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(self._wheels)]
        subprocess.run(build, cwd=tree, check=True, capture_output=True)

    def environment(self, client: str) -> dict[str, str]:
        """Return what a process needs to know to find the index with pip or uv alone."""
        programs = self._folder / "programs"
        programs.mkdir()
        if client == "uv":
            (programs / "uv").symlink_to(Path(sys.prefix) / "bin/uv")
        told = {f"{name}_FIND_LINKS": str(self._wheels) for name in ("PIP", "UV")} | {"PIP_NO_INDEX": "1"}
        cache = str(self._folder / "cache")
        return told | {"UV_NO_INDEX": "1", "UV_CACHE_DIR": cache, "PATH": f"{programs}:/usr/bin:/bin"} | ALONE

    def install(self, client: str, environment: dict[str, str]) -> Path:
        """Install the newest version into an environment of its own; return its Python."""
        python = self._folder / "installed/bin/python"
        subprocess.run([PYTHON, "-m", "venv", self._folder / "installed"], check=True, capture_output=True)
        pip = [str(python), "-m", "pip", "install"]
        install = pip if client == "pip" else ["uv", "pip", "install", "--python", str(python)]
        subprocess.run([*install, "homarus"], env=os.environ | environment, check=True, capture_output=True)
        return python

    def _stand_in(self, name: str, version: str) -> None:
        """Make a wheel without a file of the package; that of aiohttp leads to the packages that the tests have."""
        plain = name.lower().replace("-", "_").replace(".", "_")
        info = f"{plain}-{version}.dist-info"
        with zipfile.ZipFile(self._wheels / f"{plain}-{version}-py3-none-any.whl", "w") as packed:
            packed.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            if name == "aiohttp":
                packed.writestr("packages.pth", f"{sysconfig.get_path('purelib')}\n")
            packed.writestr(f"{info}/RECORD", "")


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody with a name, without the settings of this machine; return what it printed."""
    who = {"NAME": "Anna", "EMAIL": "anna@example.org"}
    named = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    environment = {**os.environ, **named, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    ran = subprocess.run(
        ["git", "-C", folder, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def prepared(base: Path, version: str, script: str) -> Path:
    """Put a version in its place whose Python is a shell script; return that."""
    folder = version_folder(base, version)
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    (folder / WHOLE).touch()
    return python

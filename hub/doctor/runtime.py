"""The runtime: Python, SQLite, the YAML parser."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, critical
from hub.storage.connection import SQLITE_VERSION

PYTHON_MIN = (3, 11)
SQLITE_MIN = (3, 35, 0)


def _look(_patient: CheckContext) -> Iterator[Finding]:
    yield from python_findings(sys.version_info[:3])
    yield from sqlite_findings(SQLITE_VERSION)
    yield from yaml_findings()


def python_findings(version: tuple[int, ...]) -> Iterator[Finding]:
    """Return findings about the Python version."""
    if version < PYTHON_MIN:
        yield critical(
            f"Python is {_dotted(version)}, and Homarus needs {_dotted(PYTHON_MIN)} or newer.",
            sys.executable,
            "script/setup",
        )


def sqlite_findings(version: tuple[int, ...]) -> Iterator[Finding]:
    """Return findings about the SQLite version."""
    if version < SQLITE_MIN:
        yield critical(
            f"SQLite is {_dotted(version)}, and Homarus needs {_dotted(SQLITE_MIN)} or newer. "
            "Use a Python that was built with a newer one.",
            "sqlite3",
        )


def yaml_findings() -> Iterator[Finding]:
    """Return findings about the YAML parser."""
    try:
        from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]  # noqa: F401
    except ImportError:
        yield critical(
            "The C parser for YAML is missing, and the configuration cannot be read without it.",
            "ruamel.yaml",
            "uv pip install 'ruamel.yaml[oldlibyaml]'",
        )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


RUNTIME = Check("runtime", "Python, SQLite and the YAML parser", _look, needs_home=False)

"""The look at an integration's code: what it imports, where it reaches, and what hides what it does."""

from __future__ import annotations

import pytest

from hub.extensions.code_look import look_at_code

CODE = b"""
import os, bs4
from aiohttp import ClientSession
from . import helper
from hub.core.clock import Clock
import asyncio

async def setup(host, config):
    open("/etc/passwd").read()
    os.system("ls")
    await asyncio.create_subprocess_exec("ls")
    await asyncio.open_connection("x", 1)
    platform.system()
"""


def test_imports_and_places_are_told() -> None:
    look = look_at_code({"api.py": CODE, "notes.txt": b"import socket"})

    assert look.imports == ("aiohttp", "bs4", "hub")
    assert look.reaches == {
        "network": ("api.py:3 aiohttp", "api.py:12 open_connection"),
        "files": ("api.py:2 os", "api.py:9 open"),
        "programs": ("api.py:10 os.system", "api.py:11 create_subprocess_exec"),
    }
    assert look.findings == ()


@pytest.mark.parametrize(
    ("code", "severity", "told"),
    [
        ("eval('1')", "danger", "makes code while it runs"),
        ("def f():\n    __import__('os')", "danger", "makes code while it runs"),
        ("import marshal", "danger", "makes code while it runs"),
        ("from pickle import loads", "warning", "may run code"),
        ("import ctypes", "warning", "below Python"),
        ("import importlib.util", "warning", "imports by names"),
        ("def f(:", "danger", "cannot be read as Python"),
        ("(" * 5_000, "danger", "cannot be read as Python"),
        ("x = '\u202eabc'", "danger", "another order"),
        ("x\0", "danger", "cannot be read as Python"),
    ],
)
def test_what_hides_what_it_does_is_a_finding(code: str, severity: str, told: str) -> None:
    (first, *_) = look_at_code({"a.py": code.encode()}).findings

    assert first.severity == severity
    assert told in " ".join(each.message for each in look_at_code({"a.py": code.encode()}).findings)


def test_programs_and_bytecode_cannot_be_read() -> None:
    found = look_at_code({"a.so": b"\x7fELF", "b.pyc": b"x", "setup.py": b""}).findings

    assert [(each.path, each.severity) for each in found] == [
        ("a.so", "danger"),
        ("b.pyc", "danger"),
        ("setup.py", "danger"),
    ]

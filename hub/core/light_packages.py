"""Packages of which an idle hub uses a few modules: their `__init__`, which imports everything, is deferred.

The server of aiohttp uses nothing of its client, whose import reads every certificate that the system trusts.
"""

from __future__ import annotations

import asyncio
import re
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

_VERSION = re.compile(r"^__version__ = ['\"](.+?)['\"]", re.MULTILINE)
_lock = RLock()
_loading: list[ModuleType] = []
_light: set[str] = set()
"""Names of the packages that are light now."""


class LightPackage(ModuleType):
    """A package whose modules can be imported, while its own names are loaded on first access."""

    def __getattr__(self, name: str) -> Any:
        if name == "__version__" and (found := _VERSION.search(Path(str(self.__file__)).read_text(encoding="utf-8"))):
            return found[1]  # asked for by its own modules
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if find_spec(module := f"{self.__name__}.{name}"):
            return import_module(module)
        if not load(self):  # one of its own modules asks while it is being imported
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} yet")
        return getattr(self, name)


def make_light(*names: str) -> None:
    """Replace packages that are not imported yet by light ones."""
    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            package = sys.modules[name] = module_from_spec(spec)
            package.__class__ = LightPackage
            _light.add(name)
            above, _, last = name.rpartition(".")
            if above:
                setattr(sys.modules[above], last, package)


def load(package: Any) -> bool:
    """Import a light package in full; return whether it is in full now."""
    with _lock:
        if not isinstance(package, LightPackage):
            return True
        if package in _loading:
            return False
        _loading.append(package)
        try:
            package.__spec__.loader.exec_module(package)  # type: ignore[union-attr]  # it was made with a loader
        finally:
            _loading.remove(package)
        package.__class__ = ModuleType  # type: ignore[assignment]
        _light.discard(package.__name__)
        return True


async def load_package(name: str) -> None:
    """Import a light package in full, in a thread, because it takes too long for the event loop."""
    if isinstance(package := sys.modules.get(name), LightPackage):
        await asyncio.to_thread(load, package)


def import_used(prefix: str) -> None:
    """Import in full the packages that the modules below a prefix use."""
    for name, module in tuple(sys.modules.items()) if _light else ():
        if name.startswith(prefix):
            for value in tuple(vars(module).values()):
                if isinstance(value, LightPackage):
                    load(value)

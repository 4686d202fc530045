"""Imports an integration: one of ours by its name, one in the home directory by its path."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import shutil
import sys
import traceback
from types import ModuleType

from hub.core.light_packages import import_used
from hub.integration.catalog import CUSTOM_FOLDER, CatalogEntry
from hub.integration.errors import SetupFailed
from hub.integration.requirements import missing_requirement


def import_integration(found: CatalogEntry) -> ModuleType:
    """Return the integration's package.

    Raises:
        MissingRequirement: It imports a package that is not installed.
        SetupFailed: It cannot be imported, lacks `async def setup`, or its `unload` is not a coroutine function.
    """
    try:
        module = _import_custom(found) if found.custom else importlib.import_module(found.package)
    except ModuleNotFoundError as error:
        name = (error.name or "").split(".")[0]
        if found.manifest is not None and name and name not in {"hub", "integrations", CUSTOM_FOLDER}:
            raise missing_requirement(found.manifest, name) from error
        raise SetupFailed(f"{found.domain} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:  # a failing integration must not stop the others
        raise SetupFailed(f"{found.domain} cannot be imported: {failure_text(error, found)}") from error
    import_used(found.package)
    if not inspect.iscoroutinefunction(getattr(module, "setup", None)):
        raise SetupFailed(f"{found.domain}/__init__.py has no `async def setup`")
    if hasattr(module, "unload") and not inspect.iscoroutinefunction(module.unload):
        raise SetupFailed(f"`unload` in {found.domain}/__init__.py must be an `async def`")
    return module


def failure_text(error: BaseException, found: CatalogEntry) -> str:
    """Return an exception's message, and the line of the integration's own files that raised it."""
    text = f"{type(error).__name__}: {error}"
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename.startswith(f"{found.path}/")]
    if not frames or isinstance(error, SyntaxError):  # which says its place itself
        return text
    return f"{text} ({frames[-1].filename.removeprefix(f'{found.path}/')}, line {frames[-1].lineno})"


def _import_custom(found: CatalogEntry) -> ModuleType:
    if found.package in sys.modules:
        return sys.modules[found.package]
    clear_bytecode(found)  # what runs are the files that were looked at
    _parent_package(found)
    spec = importlib.util.spec_from_file_location(
        found.package, found.path / "__init__.py", submodule_search_locations=[str(found.path)]
    )
    if spec is None or spec.loader is None or not (found.path / "__init__.py").is_file():
        raise SetupFailed(f"{found.domain} has no __init__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[found.package] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        forget(found)
        raise
    return module


def forget(found: CatalogEntry) -> None:
    """Forget a custom integration's modules, so that the next import reads its files again."""
    if not found.custom:
        return
    clear_bytecode(found)
    for name in [each for each in sys.modules if each == found.package or each.startswith(f"{found.package}.")]:
        del sys.modules[name]


def import_alone(found: CatalogEntry, name: str) -> ModuleType:
    """Import one module of a custom integration as its files are now, without its `__init__.py`; for other processes.

    Relative imports in it work. Raises whatever the module raises.
    """
    forget(found)
    _parent_package(found)
    package = ModuleType(found.package)
    package.__path__ = [str(found.path)]
    sys.modules[found.package] = package
    return importlib.import_module(f"{found.package}.{name}")


def clear_bytecode(found: CatalogEntry) -> None:
    """Remove the bytecode of a custom integration.

    Python matches it with the source by second and size alone, so that an edit right after an import would be missed.
    """
    if found.custom:
        for folder in found.path.rglob("__pycache__"):
            shutil.rmtree(folder, ignore_errors=True)
        importlib.invalidate_caches()


def _parent_package(found: CatalogEntry) -> None:
    """Make the parent package of custom integrations, so that relative imports within them work."""
    parent = sys.modules.get(CUSTOM_FOLDER)
    folder = str(found.path.parent)
    if parent is None:
        parent = ModuleType(CUSTOM_FOLDER)
        parent.__path__ = [folder]
        sys.modules[CUSTOM_FOLDER] = parent
    elif folder not in parent.__path__:
        parent.__path__ = [folder]

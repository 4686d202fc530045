"""Check that the integrations in use have their requirements and that custom ones can be loaded; none is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from hub.config.sections import SchemaProblem
from hub.core.errors import LimitExceeded
from hub.core.extras import can_install
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, error, warning
from hub.integration.catalog import CatalogEntry
from hub.integration.errors import MissingRequirement
from hub.integration.in_use import install_mode
from hub.integration.requirements import check_requirements
from hub.integration.schemas import IntegrationSchemas
from hub.storage.files import read_bounded

SOURCE_LIMIT_BYTES = 1024 * 1024
ENTRY = "__init__.py"
NEEDED = "setup"


def _requirements(context: CheckContext) -> Iterator[Finding]:
    for domain in sorted(context.used & context.catalog.keys()):
        manifest = context.catalog[domain].manifest
        if manifest is None:
            continue
        for name in manifest.dependencies:
            if name not in context.catalog:
                yield error(f"The integration {domain} needs {name}, which does not exist.", domain)
        try:
            check_requirements(manifest)
        except MissingRequirement as problem:
            what = f"The integration {problem.message.split('; run:')[0]}"
            if manifest.extra and can_install() and install_mode(context.config) == "auto":
                yield warning(f"{what}; the hub installs it when it starts.", domain, problem.command)
            else:
                yield error(f"{what}.", domain, problem.command)


def _custom(context: CheckContext) -> Iterator[Finding]:
    schemas = IntegrationSchemas(context.catalog)
    for found in context.catalog.values():
        if not found.custom:
            continue
        if found.manifest is None:
            yield error(f"The integration cannot be used: {found.error}.", str(found.path))
            continue
        try:
            schemas.section(found.domain)
        except SchemaProblem as problem:
            yield error(f"Its configuration cannot be checked: {problem.message}.", str(found.path))
        yield from _source(found)


def _source(found: CatalogEntry) -> Iterator[Finding]:
    """Check the code of an integration statically."""
    path = found.path / ENTRY
    if not path.is_file():
        yield error(f"The integration has no {ENTRY}.", str(found.path))
        return
    for file in sorted(found.path.rglob("*.py")):
        tree = _parsed(file)
        if isinstance(tree, Finding):
            yield tree
            continue
        if file != path:
            continue
        there = {node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef)} | _imported(tree)
        if NEEDED not in there:
            yield error(f"It has no `async def {NEEDED}`.", str(path))


def _parsed(file: Path) -> ast.Module | Finding:
    try:
        return ast.parse(read_bounded(file, SOURCE_LIMIT_BYTES), filename=str(file))
    except SyntaxError as problem:
        return error(f"Not valid Python: {problem.msg}.", f"{file}:{problem.lineno or 1}")
    except (LimitExceeded, ValueError) as problem:
        return error(f"Not valid Python: {problem}.", str(file))


def _imported(tree: ast.Module) -> set[str]:
    return {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


REQUIREMENTS = Check("requirements", "What the integrations in use need", _requirements)
CUSTOM = Check("custom", "Integrations of your own", _custom)

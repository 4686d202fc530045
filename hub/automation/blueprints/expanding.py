"""Expands an item that uses a blueprint: finds the file and fills in the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hub.automation.blueprints.errors import BlueprintInvalid
from hub.automation.blueprints.filling import USE, Grammar, fill_in
from hub.automation.blueprints.store import BlueprintStore, bundled_folder
from hub.core.errors import NotFound
from hub.core.phrases import phrase
from hub.core.schema import Invalid
from hub.security.jail_path import PathRefused

FOLDER = "blueprints"


def store_of(home: Path, bundled: Path | None = None, further: Callable[[], Iterable[Path]] = tuple) -> BlueprintStore:
    """Return the blueprints of a home.

    Args:
        home: The home directory.
        bundled: The folder of the bundled ones; found by default.
        further: Returns the folders of the integrations in use.
    """
    return BlueprintStore(home / FOLDER, bundled or bundled_folder(), further)


def expand(
    item: Mapping[str, Any], domain: str, store: BlueprintStore, grammar: Grammar | None = None
) -> dict[str, Any]:
    """Return what an item with `use_blueprint: {path, input}` expands to, validated; see `fill_in`.

    Raises:
        Invalid: With the path in the item; errors in the blueprint name its file and line.
    """
    try:
        found = store.find(domain, item[USE]["path"])
    except (NotFound, PathRefused, BlueprintInvalid) as error:
        raise Invalid(error.message, path=[USE, "path"]) from error
    if found.blueprint is None:
        problem = (
            found.error.message
            if found.error is not None
            else phrase("there is no blueprint {path}", path=item[USE]["path"])
        )
        raise Invalid(problem, path=[USE, "path"])
    return fill_in(item, found.blueprint, grammar)

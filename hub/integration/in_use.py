"""Which integrations a configuration uses."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from hub.config.checked import Config
from hub.config.labels import PLATFORM_SECTIONS
from hub.integration.catalog import CatalogEntry
from hub.integration.order import with_dependencies


def in_use(config: Config, catalog: Mapping[str, CatalogEntry], needed: Iterable[str] = ()) -> set[str]:
    """Return the integrations that a hub sets up: defaults, configured ones, and those that others need.

    One whose variables are set in the environment counts as configured.

    Args:
        config: The checked configuration.
        catalog: The integrations there are.
        needed: Domains that other sections need.
    """
    defaults = {
        domain
        for domain, found in catalog.items()
        if (manifest := found.manifest) and (manifest.default is True or any(map(os.environ.get, manifest.environment)))
    }
    off = disabled_domains(config)
    chosen = (defaults | (config.present & catalog.keys()) | set(needed)) - off
    return with_dependencies(chosen, catalog) - off


def platform_items(config: Mapping[str, Any], domain: str) -> dict[str, list[Mapping[str, Any]]]:
    """Return the items of `sensor`, `light` and the like that name an integration as their platform, by section."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for section in PLATFORM_SECTIONS:
        for item in config.get(section) or ():
            if item["platform"] == domain:
                found.setdefault(section, []).append(item)
    return found


def disabled_domains(config: Config) -> set[str]:
    """Return the domains that `hub: disabled` names."""
    hub = config.get("hub")
    return set(hub.get("disabled", ())) if isinstance(hub, Mapping) else set()


def install_mode(config: Config) -> str:
    """Return what `hub: install` says about packages that are not installed: auto, ask or never."""
    hub = config.get("hub")
    return str(hub.get("install", "auto")) if isinstance(hub, Mapping) else "auto"

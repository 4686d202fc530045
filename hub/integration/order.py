"""The order in which integrations are set up: dependencies first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hub.integration.catalog import CatalogEntry


def with_dependencies(domains: Iterable[str], catalog: Mapping[str, CatalogEntry]) -> set[str]:
    """Return the domains and all their dependencies in the catalog."""
    wanted: set[str] = set()
    waiting = list(domains)
    while waiting:
        domain = waiting.pop()
        if domain in wanted or domain not in catalog:
            continue
        wanted.add(domain)
        manifest = catalog[domain].manifest
        if manifest is not None:
            waiting.extend(manifest.dependencies)
    return wanted


def before(domain: str, among: set[str], catalog: Mapping[str, CatalogEntry]) -> set[str]:
    """Return those of `among` that must have been tried before `domain`."""
    manifest = catalog[domain].manifest
    if manifest is None:
        return set()
    return {*manifest.dependencies, *manifest.after_dependencies} & among - {domain}


def in_order(domains: Iterable[str], catalog: Mapping[str, CatalogEntry]) -> tuple[list[str], list[str]]:
    """Return the domains in dependency order, and those in a dependency cycle."""
    left = {domain: before(domain, set(domains), catalog) for domain in sorted(set(domains))}
    ordered: list[str] = []
    while ready := [domain for domain, waits in left.items() if not waits]:
        ordered.extend(ready)
        for domain in ready:
            del left[domain]
        for waits in left.values():
            waits.difference_update(ready)
    return ordered, sorted(left)


def dependents(domains: Iterable[str], among: Iterable[str], catalog: Mapping[str, CatalogEntry]) -> set[str]:
    """Return those of `among` that depend on one of `domains`, directly or not, without the domains themselves."""
    given = set(domains)
    reached = set(given)
    pool = set(among)
    while True:
        found = {
            domain
            for domain in pool - reached
            if (manifest := catalog[domain].manifest) is not None and reached & set(manifest.dependencies)
        }
        if not found:
            return reached - given
        reached |= found

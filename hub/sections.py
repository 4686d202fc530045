"""The sections of the hub's own parts, and which integrations they need.

Only modules that describe are imported here, none that does: a configuration is checked without the network stack.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from hub.agent import schema as agent
from hub.agent.budgets import schema as budgets
from hub.automation.definition import schema as automation
from hub.automation.definition.kinds import OUR_KINDS, Kinds
from hub.automation.editing.unknown_names import check_names
from hub.backup import schema as backup
from hub.config import hub_section
from hub.config.checked import Config
from hub.config.labels import PLATFORM_SECTIONS
from hub.config.sections import CrossCheck, IntegrationSections, Section, Sections
from hub.entities.helpers import schema as helpers
from hub.gateway.access import start_check
from hub.gateway.calls import schema as gateway
from hub.integration.catalog import CatalogEntry, declared_kinds, model_apis
from hub.integration.in_use import in_use
from hub.integration.manifest import LAN
from hub.integration.schemas import IntegrationSchemas
from hub.memory import schema as memory
from hub.messaging import schema as messaging
from hub.messaging.access.routing_schema import bindings_can_match
from hub.messaging.places import configured_places
from hub.models import schema as models
from hub.models.provider_config import read_providers
from hub.models.vendors import LITELLM_API
from hub.nodes import schema as nodes
from hub.security.network_schema import NETWORK_SCHEMA
from hub.security.people import PEOPLE_SCHEMA
from hub.sessions import schema as sessions
from hub.skills import schema as skills
from hub.storage.schema import STORAGE_SCHEMA
from hub.tools import exec_rules, schema as tools

PEOPLE = Section("people", PEOPLE_SCHEMA, critical=True, default=[], description="Who lives here")
FOLDER = "blueprints"
SKILLS = "skills"
NETWORK = Section("network", NETWORK_SCHEMA, default={}, description="What the hub may reach on behalf of others")

STORAGE = Section(
    "storage",
    STORAGE_SCHEMA,
    critical=True,
    default={},
    description="Where sessions, messages and runs are kept, if not in files of the home",
    restart=True,
)

_MODULES: tuple[ModuleType, ...] = (
    hub_section,
    gateway,
    sessions,
    models,
    agent,
    budgets,
    memory,
    messaging,
    tools,
    exec_rules,
    skills,
    nodes,
    backup,
)


def core_sections(kinds: Kinds = OUR_KINDS, integrations: IntegrationSections | None = None) -> list[Section]:
    """Return the sections of the hub's own parts, in the order of the documentation.

    Args:
        kinds: The kinds of triggers, conditions and actions that automations may use.
        integrations: Those that items of `sensor`, `light` and the like may name as their platform.
    """
    found: list[Section] = [section for module in _MODULES for section in module.SECTIONS]
    found.insert(1, PEOPLE)
    ours = [*helpers.SECTIONS, *helpers.platform_sections(integrations)]
    return [*found, *ours, *automation.sections(kinds), NETWORK, STORAGE]


def cross_checks() -> dict[str, CrossCheck]:
    """Return the checks that span sections, from the `CROSS_CHECKS` of the parts."""
    found: dict[str, CrossCheck] = {}
    for module in (*_MODULES, automation):
        checks: Mapping[str, CrossCheck] = getattr(module, "CROSS_CHECKS", {})
        found.update(checks)
    return {**found, **start_check.CROSS_CHECKS, "names in automations": check_names()}


def domains_in_use(config: Config, catalog: Mapping[str, CatalogEntry]) -> set[str]:
    """Return the integrations that a configuration uses."""
    return in_use(config, catalog, needed_domains(config, catalog))


def blueprint_folders(config: Config, catalog: Mapping[str, CatalogEntry]) -> list[Path]:
    """Return the folders `blueprints/` of the integrations in use."""
    folders = [catalog[domain].path / FOLDER for domain in sorted(domains_in_use(config, catalog))]
    return [folder for folder in folders if folder.is_dir()]


def skill_folders(config: Config, catalog: Mapping[str, CatalogEntry]) -> dict[str, Path]:
    """Return the folders `skills/` of the integrations in use, by domain."""
    found = {domain: catalog[domain].path / SKILLS for domain in sorted(domains_in_use(config, catalog))}
    return {domain: folder for domain, folder in found.items() if folder.is_dir()}


def _checks_with(integrations: IntegrationSchemas, kinds: Kinds) -> dict[str, CrossCheck]:
    """Return the checks that depend on integrations."""

    def unused(config: Config) -> dict[str, CatalogEntry]:
        used = domains_in_use(config, integrations.catalog)
        away = [found for domain, found in integrations.catalog.items() if domain not in used]
        # The kinds of a default one that comes with the program need nothing of what its set-up makes.
        needed = [found for found in away if found.custom or not (found.manifest and found.manifest.default)]
        return {name: found for found in needed for name in declared_kinds(found)}

    def folders(config: Config) -> list[Path]:
        return blueprint_folders(config, integrations.catalog)

    def in_use_here(config: Config) -> set[str]:
        return domains_in_use(config, integrations.catalog)

    def places(config: Config) -> frozenset[tuple[str, str]]:
        return configured_places(config, integrations.catalog, in_use_here(config))

    def away(config: Config) -> Callable[[str], bool]:
        used = in_use_here(config)
        return lambda source: source not in used and integrations.makes_entities(source)

    def is_open(config: Config) -> bool:
        return any(integrations.catalog[domain].custom for domain in in_use_here(config))

    return {
        "blueprints": kinds.in_use()(automation.blueprints_fit(folders)),
        "names in automations": kinds.in_use()(
            check_names(folders, in_use_here, places, is_open, integrations.entities, integrations.items, away)
        ),
        "places of bindings": bindings_can_match(places),
        "kinds of integrations": automation.kinds_are_in_use(kinds, unused),
    }


def all_sections(integrations: IntegrationSections | None = None) -> Sections:
    """Return the registry of core sections, their cross checks and the integrations' sections.

    Automations may use the kinds that the integrations declare.
    """
    if not isinstance(integrations, IntegrationSchemas):
        return Sections(core_sections(), integrations, cross_checks())
    kinds = Kinds(integrations.kinds)
    return Sections(
        core_sections(kinds, integrations),
        integrations,
        {**cross_checks(), **_checks_with(integrations, kinds)},
        kinds.in_use,
    )


def needed_domains(
    config: Mapping[str, Any], catalog: Mapping[str, CatalogEntry], environment: Mapping[str, str] | None = None
) -> set[str]:
    """Return the integrations that sections need implicitly: for model providers, the memory, the LAN, as platforms.

    Args:
        config: The checked configuration.
        catalog: The integrations there are.
        environment: The environment variables with keys; the process's own by default.
    """
    needed: set[str | None] = set()
    if isinstance(section := config.get("models"), Mapping):
        providers = read_providers(section, os.environ if environment is None else environment)
        speakers = model_apis(catalog)
        needed |= {speakers.get(provider.api, speakers.get(LITELLM_API)) for provider in providers.values()}
    if isinstance(section := config.get("memory"), Mapping):
        engines = {name for name, found in catalog.items() if found.manifest is not None and found.manifest.engine}
        needed |= engines.intersection(memory.engine_names(section).values())
    if gateway.serves_network(config.get("http")):
        needed |= {name for name, found in catalog.items() if found.manifest and found.manifest.default == LAN}
    named = {str(item["platform"]) for section in PLATFORM_SECTIONS for item in config.get(section) or ()}
    return {domain for domain in needed if domain is not None} | (named & catalog.keys())

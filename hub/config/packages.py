"""Packages: `hub: packages:` holds pieces of configuration by name, which are merged into the rest."""

from __future__ import annotations

from typing import Any

from hub.config.errors import ConfigError
from hub.config.join import merge_values, shell_of
from hub.config.labels import join_labelled
from hub.config.marks import BROKEN, ConfigMapping, Mark
from hub.config.paths import KeyPath
from hub.core.phrases import phrase

HUB = "hub"
PACKAGES = "packages"


def merge_packages(data: ConfigMapping, errors: list[ConfigError]) -> ConfigMapping:
    """Return the sections with all packages merged in, and without `hub: packages`.

    Lists are joined, mappings merged key by key; what is set twice is an error in the package, whose value is left out.
    The given data is not changed.
    """
    hub = data.get(HUB)
    if not isinstance(hub, ConfigMapping) or PACKAGES not in hub:
        return data
    packages = hub[PACKAGES]
    merged = shell_of(data)
    merged[HUB] = shell_of(hub)
    merged[HUB].drop(PACKAGES)
    if packages is None or packages is BROKEN:
        return merged
    if not isinstance(packages, ConfigMapping):
        message = "packages must be a mapping of names to sections"
        hint = "write packages: !include_dir_named packages"
        errors.append(ConfigError.at(hub.key_marks[PACKAGES], (HUB, PACKAGES), message, hint))
        return merged
    for name, package in packages.items():
        _merge_package(merged, package, packages.key_marks[name], (HUB, PACKAGES, name), errors)
    return merged


def _merge_package(merged: ConfigMapping, package: Any, mark: Mark, keys: KeyPath, errors: list[ConfigError]) -> None:
    if package is None or package is BROKEN:
        return
    if not isinstance(package, ConfigMapping):
        message = f"the package {keys[-1]} must hold sections, such as automation:"
        errors.append(ConfigError.at(mark, keys, message))
        return
    package = join_labelled(package, keys, errors)
    for section, value in package.items():
        at = package.key_marks[section]
        if section == HUB:
            errors.append(
                ConfigError.at(
                    at, (*keys, HUB), phrase("a package cannot set hub:"), phrase("move it to configuration.yaml")
                )
            )
            continue
        if section not in merged:
            merged.put(section, value, at, package.value_marks[section])
            continue
        merged[section] = merge_values(merged[section], value, merged.key_marks[section], at, (*keys, section), errors)

"""Packages: `hub: packages:` holds pieces of configuration by name, which are merged into the rest."""

from __future__ import annotations

from typing import Any

from hub.config.errors import ConfigError
from hub.config.marks import BROKEN, ConfigList, ConfigMapping, Mark, place
from hub.config.paths import KeyPath

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
    merged = _shell(data)
    merged[HUB] = _shell(hub)
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
    for section, value in package.items():
        at = package.key_marks[section]
        if section == HUB:
            errors.append(
                ConfigError.at(at, (*keys, HUB), "a package cannot set hub:", "move it to configuration.yaml")
            )
            continue
        if section not in merged:
            merged.put(section, value, at, package.value_marks[section])
            continue
        merged[section] = _merge(merged[section], value, merged.key_marks[section], at, (*keys, section), errors)


def _merge(base: Any, extra: Any, base_mark: Mark, mark: Mark, keys: KeyPath, errors: list[ConfigError]) -> Any:
    if extra is None or base is BROKEN:
        return base
    if base is None or extra is BROKEN:
        return extra
    if isinstance(base, ConfigList) or isinstance(extra, ConfigList):
        if isinstance(base, (ConfigList, ConfigMapping)) and isinstance(extra, (ConfigList, ConfigMapping)):
            return _joined(base, extra)
    elif isinstance(base, ConfigMapping) and isinstance(extra, ConfigMapping):
        return _merged(base, extra, keys, errors)
    if base == extra:
        return base
    file, line, _ = place(base_mark)
    errors.append(
        ConfigError.at(mark, keys, f"{keys[-1]} is set in {file} line {line} already", "remove one of the two")
    )
    return base


def _merged(base: ConfigMapping, extra: ConfigMapping, keys: KeyPath, errors: list[ConfigError]) -> ConfigMapping:
    found = _shell(base)
    for key, value in extra.items():
        at = extra.key_marks[key]
        if key in found:
            found[key] = _merge(found[key], value, found.key_marks[key], at, (*keys, key), errors)
        else:
            found.put(key, value, at, extra.value_marks[key])
    return found


def _joined(base: ConfigList | ConfigMapping, extra: ConfigList | ConfigMapping) -> ConfigList:
    found = ConfigList(base.mark)
    for part in (base, extra):
        if isinstance(part, ConfigMapping):
            found.put(part, part.mark)
            continue
        for item, mark in zip(part, part.marks, strict=True):
            found.put(item, mark)
    return found


def _shell(mapping: ConfigMapping) -> ConfigMapping:
    copy = ConfigMapping(mapping.mark)
    copy.update(mapping)
    copy.key_marks = dict(mapping.key_marks)
    copy.value_marks = dict(mapping.value_marks)
    return copy

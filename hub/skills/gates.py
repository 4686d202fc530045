"""Gates: whether a skill's requirements are met. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.core.phrases import in_series, phrase
from hub.core.secret import Secret
from hub.skills.skill_file import Requirements, SkillFile

_PLATFORMS = {"macos": "darwin", "mac": "darwin", "osx": "darwin", "windows": "win32", "win": "win32"}


class SkillEntry(Struct, frozen=True):
    """The configuration of a skill, at `skills.entries.<key>`.

    Attributes:
        enabled: False switches it off.
        api_key: The value of the environment variable that the skill names as its primary one.
        env: Further environment variables.
        config: Settings that are shown with its instructions.
    """

    enabled: bool = True
    api_key: Secret | None = None
    env: Mapping[str, Secret] = {}
    config: Mapping[str, Any] = {}


class GateFacts(Struct, frozen=True):
    """The facts that gates check.

    Attributes:
        platform: The platform as `sys.platform` says.
        has_program: Whether a program is found.
        has_variable: Whether the environment has a variable.
        has_setting: Whether a key of the configuration, with dots, has a value.
    """

    platform: str
    has_program: Callable[[str], bool]
    has_variable: Callable[[str], bool]
    has_setting: Callable[[str], bool]


def missing(file: SkillFile, entry: SkillEntry, facts: GateFacts) -> Requirements | None:
    """Return a skill's unmet requirements; None if it may be offered."""
    requires = file.requires
    systems = {_PLATFORMS.get(each.lower(), each.lower()) for each in requires.os}
    if systems and facts.platform not in systems:
        return Requirements(os=requires.os)
    if file.always:
        return None
    some = requires.any_bins
    lacking = Requirements(
        bins=tuple(each for each in requires.bins if not facts.has_program(each)),
        any_bins=() if not some or any(map(facts.has_program, some)) else some,
        env=tuple(each for each in requires.env if each not in variables(file, entry) and not facts.has_variable(each)),
        config=tuple(each for each in requires.config if not facts.has_setting(each)),
    )
    return None if lacking == Requirements() else lacking


def variables(file: SkillFile, entry: SkillEntry) -> dict[str, Secret]:
    """Return the environment variables configured for a skill."""
    given = dict(entry.env)
    if file.primary_env is not None and entry.api_key is not None:
        given.setdefault(file.primary_env, entry.api_key)
    return given


def missing_text(lacking: Requirements) -> str:
    """Return the unmet requirements in words."""
    parts = [
        phrase("runs on: {names}", names=lacking.os) if lacking.os else "",
        phrase("programs: {names}", names=lacking.bins) if lacking.bins else "",
        phrase("one of the programs: {names}", names=lacking.any_bins) if lacking.any_bins else "",
        phrase("environment variables: {names}", names=lacking.env) if lacking.env else "",
        phrase("settings: {names}", names=lacking.config) if lacking.config else "",
    ]
    return in_series([each for each in parts if each])


def has_setting(config: Mapping[str, Any], key: str) -> bool:
    """Whether a key of the configuration, with dots, has a value that is not empty, false or zero."""
    value: Any = config
    for part in key.split("."):
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = next(iter(value), None)
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return bool(value)

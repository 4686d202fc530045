"""Configuration of skills: `skills:`, and the lists by which an agent or a group has only some of them."""

from __future__ import annotations

from typing import Any

from hub.config.sections import Section
from hub.core.schema import (
    All,
    Described,
    In,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    ensure_list,
    integer,
    path,
    secret,
    string,
)

PROMPT_LIMIT = 8_000
CLAWHUB, INDEX = "clawhub", "index"
"""Kinds of registries: ClawHub's API, and an index in the form of agentskills.io."""
REGISTRIES = {"clawhub": {"kind": CLAWHUB, "url": "https://clawhub.ai"}}
DIRECTORIES_LIMIT = 20
ENTRIES_LIMIT = 500
REGISTRIES_LIMIT = 20

skill_name = Match(r"^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$", msg="expected the name of a skill: a-z, 0-9 and dashes")
skill_names = All(ensure_list(skill_name), Length(max=ENTRIES_LIMIT))
"""Names of skills, such as those that an agent has."""


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


_variable = Match(r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", msg="expected the name of an environment variable")

ENTRY_SCHEMA = {
    Optional("enabled", default=True, description="Whether it may be used."): boolean,
    Optional("api_key", description="Its API key, best as !secret NAME."): secret,
    Optional("env", default=dict, description="Environment variables for programs that it has run."): All(
        Described(_or_empty, {}, "mapping"), {_variable: secret}, Length(max=100)
    ),
    Optional("config", default=dict, description="Settings that are shown with its instructions."): All(
        Described(_or_empty, {}, "mapping"), {string: object}, Length(max=100)
    ),
}

REGISTRY_SCHEMA = {
    Required("kind", description="clawhub, or index: a site that lists skills as agentskills.io describes."): In(
        [CLAWHUB, INDEX]
    ),
    Required("url", description="Its address; that of a site for an index."): All(
        string,
        Match(r"^https?://[^\s/?#@]+(/[^\s?#]*)?$", msg="expected an address such as https://clawhub.ai"),
        Length(max=500),
        lambda url: url.rstrip("/"),
    ),
}

SKILLS_SCHEMA = Schema(
    {
        Optional(
            "watch", default=True, description="Whether conversations that go on notice changed skills; else new ones."
        ): boolean,
        Optional("extra_dirs", default=list, description="Further directories that hold folders of skills."): All(
            ensure_list(path), Length(max=DIRECTORIES_LIMIT)
        ),
        Optional("bundled", description="Only these of the skills that come with Homarus; all without it."): (
            skill_names
        ),
        Optional(
            "prompt_limit", default=PROMPT_LIMIT, description="Characters of the list of skills in a prompt."
        ): All(integer, Range(min=500, max=100_000)),
        Optional(
            "registries",
            default=lambda: REGISTRIES,
            description="Where `homarus skills search` looks, by name. Nothing is asked before somebody searches.",
        ): All(
            Described(_or_empty, {}, "mapping"),
            {Match(r"^[a-z][a-z0-9_-]{0,63}$", msg="expected a name of a-z, 0-9 and dashes"): REGISTRY_SCHEMA},
            Length(max=REGISTRIES_LIMIT),
        ),
        Optional("entries", default=dict, description="What is configured for single skills, by name."): All(
            Described(_or_empty, {}, "mapping"), {skill_name: ENTRY_SCHEMA}, Length(max=ENTRIES_LIMIT)
        ),
    }
)

SECTIONS = (
    Section(
        "skills",
        SKILLS_SCHEMA,
        default={},
        entries="entries",
        description="Skills: instructions that agents read when a task needs them",
    ),
)

"""A kind of template entity: its templates, actions and services, as plain data and pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

Settings: TypeAlias = Mapping[str, Any]
"""What the configuration says of one entity, validated."""
Values: TypeAlias = Mapping[str, Any]
"""What is known of an entity: what its templates gave, and what was assumed after a command."""
Read: TypeAlias = Callable[[Any, Settings, Values], Values]
"""Makes values of what a template gave; raises `ValueError` with what was expected instead."""


class TemplateField(Struct, frozen=True):
    """A template of a kind.

    Attributes:
        read: Makes values of what it gave.
        failed: The values when it gave nothing that can be used.
        broken: The values when it cannot be rendered, where they are others.
        required: Whether it must be given.
        default: What it is when it is not given.
        is_state: Whether the entity is unavailable while it cannot be rendered.
    """

    read: Read
    failed: Values
    required: bool = False
    default: str | None = None
    broken: Values | None = None
    is_state: bool = False


class Step(Struct, frozen=True):
    """What a service does.

    Attributes:
        runs: Actions by their key, with the variables that they see.
        assumed: What is true then, where nothing else says so.
        answer: What it returns, for a service that does.
        at_once: Whether it is true before the actions are done, rather than after them.
    """

    runs: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    assumed: Values = {}
    at_once: bool = False
    answer: Mapping[str, Any] | None = None


Serve: TypeAlias = Callable[[Settings, Values, Mapping[str, Any]], Step]
"""What a service with this data, and the moment as `now`, does; raises `InvalidRequest` for what cannot be."""


class Shown(Struct, frozen=True):
    """What an entity shows.

    Attributes:
        state: Its state; None while it is not known.
        fixed: Attributes that it has even when it is unavailable.
        attributes: Further ones.
    """

    state: str | None
    fixed: Mapping[str, Any] = {}
    attributes: Mapping[str, Any] = {}


class TemplateKind(Struct, frozen=True):
    """A kind of template entity.

    Attributes:
        domain: The domain of its entities, which is its key in a block.
        description: What they are, for the reference.
        templates: Its templates by key, beside `name`, `icon`, `picture`, `availability` and `attributes`.
        show: Returns what one shows.
        actions: Keys of its actions, and whether each must be given.
        fields: Further keys, which are no templates.
        services: Returns its services by name.
        begin: What is known of one before anything else.
        rule: Checks across its keys; raises `Invalid`.
        restores: Whether one remembers over a restart, by its settings; `True` for those that triggers set.
        legacy: The key of the mapping of named ones in a section with `platform: template`; empty where there is none.
        name: The name of one that has none; of those without, the first is `unnamed_device`.
        renamed: Old keys of such ones, and what each is called now.
    """

    domain: str
    description: str
    templates: Mapping[str, TemplateField]
    show: Callable[[Settings, Values], Shown]
    actions: Mapping[str, bool] = {}
    fields: Mapping[Any, Any] = {}
    services: Callable[[Settings], Mapping[str, Serve]] = lambda settings: {}
    begin: Values = {}
    rule: Callable[[dict[str, Any]], dict[str, Any]] = dict
    restores: Callable[[Settings, bool], bool] = lambda settings, triggered: False
    legacy: str = ""
    name: str = ""
    renamed: Mapping[str, str] = {}

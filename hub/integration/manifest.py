"""The manifest of an integration: `manifest.json` in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.config.suggest import did_you_mean
from hub.core.schema import (
    REQUIRED_MESSAGE,
    All,
    AnyOf,
    In,
    Length,
    Match,
    Optional,
    Required,
    Schema,
    SchemaError,
    boolean,
    each_error,
    integer,
    slug,
    string,
)
from hub.integration.errors import ManifestError

MANIFEST = "manifest.json"
SIZE_LIMIT_BYTES = 65_536
TEXT_LIMIT = 500
KEPT = 256
"""Manifests that are kept as they were checked: each look at the catalogue reads them all."""
LAN = "lan"
ENGINES = ("keywords", "vectors", "embeddings")

_text = All(string, Length(min=1, max=TEXT_LIMIT))

ZEROCONF_SCHEMA = Schema(
    {
        Required("type", description="A type of services in the local network"): Match(
            r"^_[a-z0-9-]{1,15}\._(tcp|udp)$", msg="expected a type of services, such as _mqtt._tcp"
        ),
        Required("name", description="For people"): _text,
        Optional("key", default="", description="Where it goes in the configuration: models.providers.ollama"): string,
        Optional(
            "value",
            default=dict,
            description="What goes there; {address}, {port}, {name}, {slug}, {txt.KEY} are its own",
        ): {slug: AnyOf(string, boolean, integer)},
        Optional("is_list", default=False, description="Whether there is a list, of which each device is an item"): (
            boolean
        ),
        Optional("secrets", default=list, description="Further keys, whose values a person must give"): [slug],
        Optional("secrets_if", default="", description="The key of a TXT record without which they are not needed"): (
            string
        ),
    }
)
MANIFEST_SCHEMA = Schema(
    {
        Required("domain", description="Its key in the configuration; the name of its folder"): All(
            Match(r"^[a-z][a-z0-9_]{0,63}$", msg="expected a-z, 0-9 and _, beginning with a letter")
        ),
        Required("name", description="For people"): _text,
        Optional("kind", default="integration", description="What it mainly brings: channel, model, tool, …"): slug,
        Optional("version", default="0.0.0"): _text,
        Optional("description", default=""): All(string, Length(max=TEXT_LIMIT)),
        Optional("dependencies", default=list, description="Domains that must be set up before"): [slug],
        Optional("after_dependencies", default=list, description="Domains to wait for, if they are used"): [slug],
        Optional("requirements", default=list, description="Python packages it needs"): [_text],
        Optional(
            "default",
            default=False,
            description="Whether it is set up without being configured; lan: where the hub serves its network",
        ): AnyOf(boolean, In([LAN])),
        Optional("triggers", default=list, description="Kinds of triggers in its trigger.py"): [slug],
        Optional("conditions", default=list, description="Kinds of conditions in its condition.py"): [slug],
        Optional("actions", default=list, description="Kinds of actions in its action.py"): [slug],
        Optional("model_apis", default=list, description="The `api:` of model providers that it speaks"): [slug],
        Optional("channels", default=list, description="Channels it brings under other names than its own"): [slug],
        Optional("cli", default=list, description="Commands in its cli.py"): [slug],
        Optional("doctor", default=list, description="Checks of `homarus doctor` in its doctor.py"): [slug],
        Optional("zeroconf", default=list, description="Services it knows in the local network"): [ZEROCONF_SCHEMA],
        Optional("mqtt", default=list, description="MQTT topics by which it is found"): [_text],
        Optional(
            "environment", default=list, description="Variables of the environment; one that is set configures it too"
        ): [_text],
        Optional("documentation", default=""): All(string, Length(max=TEXT_LIMIT)),
        Optional(
            "programs", default=False, description="Whether it starts programs of the machine that its settings name"
        ): boolean,
        Optional("engine", default=None, description="Engine of the memory's index that its engine.py has"): In(
            [None, *ENGINES]
        ),
        Optional("extra", default=None, description="The extra in pyproject.toml with its requirements"): object,
    }
)


class ServiceMatcher(Struct, frozen=True):
    """A type of services discovered in the local network; see `ZEROCONF_SCHEMA`."""

    type: str
    name: str
    key: str = ""
    value: Mapping[str, str | bool | int] = {}
    is_list: bool = False
    secrets: Sequence[str] = ()
    secrets_if: str = ""


class Manifest(Struct, frozen=True):
    """The contents of a manifest; see `MANIFEST_SCHEMA`."""

    domain: str
    name: str
    kind: str = "integration"
    version: str = "0.0.0"
    description: str = ""
    dependencies: tuple[str, ...] = ()
    after_dependencies: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    default: bool | str = False
    triggers: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    model_apis: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    cli: tuple[str, ...] = ()
    doctor: tuple[str, ...] = ()
    zeroconf: tuple[ServiceMatcher, ...] = ()
    mqtt: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    programs: bool = False
    documentation: str = ""
    engine: str | None = None
    extra: str | None = None


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest in an integration's folder.

    Raises:
        ManifestError: It cannot be read or is not valid; the message names the file and the field.
    """
    path = folder / MANIFEST
    shown = f"{folder.name}/{MANIFEST}"
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT_BYTES + 1)
    except OSError as error:
        raise ManifestError(f"{shown} cannot be read: {error.strerror}") from error
    if len(data) > SIZE_LIMIT_BYTES:
        raise ManifestError(f"{shown} is larger than {SIZE_LIMIT_BYTES // 1024} KB")
    return _parsed(data, folder.name, shown)


def parse_manifest(data: bytes) -> Manifest:
    """Return the manifest in a file that is not in its folder yet.

    Raises:
        ManifestError: As `read_manifest`.
    """
    if len(data) > SIZE_LIMIT_BYTES:
        raise ManifestError(f"{MANIFEST} is larger than {SIZE_LIMIT_BYTES // 1024} KB")
    return _parsed(data, None, MANIFEST)


@lru_cache(KEPT)
def _parsed(data: bytes, folder_name: str | None, shown: str) -> Manifest:
    try:
        read = json.loads(data)
    except json.JSONDecodeError as error:
        raise ManifestError(f"{shown} line {error.lineno}: this is not JSON: {error.msg}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise ManifestError(f"{shown} is not JSON") from error
    return _checked(read, folder_name, shown)


def _checked(read: Any, folder_name: str | None, shown: str) -> Manifest:
    try:
        valid = MANIFEST_SCHEMA(read)
    except SchemaError as error:
        raise ManifestError("; ".join(_told(each, shown) for each in each_error(error))) from error
    if folder_name not in (None, valid["domain"]):
        raise ManifestError(f"{shown}: domain is {valid['domain']}, and its folder is named {folder_name}")
    if valid["extra"] is not None and not isinstance(valid["extra"], str):
        raise ManifestError(f"{shown}: extra: expected the name of an extra")
    fields: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in valid.items()}
    fields["zeroconf"] = tuple(ServiceMatcher(**each) for each in valid["zeroconf"])
    return Manifest(**fields)


def _told(error: SchemaError, shown: str) -> str:
    field = ".".join(str(part) for part in error.path)
    if str(error.msg) == "extra keys not allowed":
        known = [str(key) for key in MANIFEST_SCHEMA.schema]
        hint = did_you_mean(str(error.path[-1]), known)
        return f"{shown}: there is no field {field}" + (f" ({hint})" if hint else "")
    if str(error.msg) == REQUIRED_MESSAGE:
        return f"{shown}: the field {field} is missing"
    return f"{shown}: {field}: {error.msg}" if field else f"{shown}: {error.msg}"

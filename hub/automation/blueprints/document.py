"""Reads the file of a blueprint within bounds; every error names its line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from hub.automation.blueprints.errors import BlueprintInvalid
from hub.automation.blueprints.metadata import InputField, Metadata, read_metadata
from hub.automation.blueprints.substitute import InputTags, input_on_the_way, substitute
from hub.config.bounds import Budget
from hub.config.errors import ConfigError
from hub.config.marks import ConfigMapping, Mark, MarkOrigin, key_mark_of, mark_of, plain
from hub.config.paths import KeyPath
from hub.config.suggest import did_you_mean
from hub.config.yaml_reader import YamlReader
from hub.core.phrases import phrase
from hub.core.schema import Invalid, each_error

SIZE_LIMIT_BYTES = 1_000_000
VALUES_LIMIT = 50_000
ALIASES_LIMIT = 1_000
BLUEPRINT = "blueprint"


class Blueprint(Struct, frozen=True):
    """A blueprint that can be used.

    Attributes:
        file: Its name in errors: `blueprints/automation/homarus/heartbeat.yaml`.
        text: The file.
        root: Its content, with marks; inputs are `Input` in it.
    """

    file: str
    text: str
    metadata: Metadata
    root: ConfigMapping

    @property
    def hash(self) -> str:
        """The SHA-256 of its text, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def inputs(self) -> Mapping[str, InputField]:
        """Its inputs by key."""
        return self.metadata.inputs

    def as_dict(self) -> dict[str, Any]:
        """The metadata of the blueprint, as the gateway and the dashboard show it."""
        about = self.metadata
        return {
            "name": about.name,
            "domain": about.domain,
            "description": about.description,
            "author": about.author,
            "icon": about.icon,
            "source_url": about.source_url,
            "hash": self.hash,
            "sections": [section.as_dict() for section in about.sections],
        }

    def fill(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the automation or script for values of all inputs, before the grammar is applied."""
        body: dict[str, Any] = substitute({key: each for key, each in self.root.items() if key != BLUEPRINT}, inputs)
        return body

    def input_path(self, keys: KeyPath) -> tuple[str, KeyPath] | None:
        """Return the input whose value contains a path of the result, and the rest of the path."""
        return input_on_the_way(self.root, keys)

    def where(self, keys: KeyPath) -> str:
        """Return `file:line:column: path` for a path of the result."""
        return str(ConfigError.at(mark_of(self.root, keys, self.root.mark), keys, "")).removesuffix(": ")


def read_blueprint(text: str, file: str) -> Blueprint:
    """Return the blueprint in a text.

    Args:
        text: YAML.
        file: Its name in errors.

    Raises:
        BlueprintInvalid: With everything that is wrong in it.
    """
    if len(text.encode()) > SIZE_LIMIT_BYTES:
        raise _invalid(
            file, (MarkOrigin(file), 0, 0), (), phrase("a blueprint has at most {limit} bytes", limit=SIZE_LIMIT_BYTES)
        )
    errors: list[ConfigError] = []
    tags = InputTags()
    budget = Budget()
    budget.values, budget.aliases = VALUES_LIMIT, ALIASES_LIMIT
    root = YamlReader(MarkOrigin(file), tags, budget, errors, []).read(text)
    if errors:
        raise BlueprintInvalid(file, errors)
    if not isinstance(root, ConfigMapping) or BLUEPRINT not in root:
        raise _invalid(file, (MarkOrigin(file), 0, 0), (), phrase("this is not a blueprint: it has no key blueprint"))
    metadata = _metadata(file, root)
    _check_inputs(file, tags, metadata)
    return Blueprint(file, text, metadata, root)


def _metadata(file: str, root: ConfigMapping) -> Metadata:
    try:
        return read_metadata(plain(root[BLUEPRINT]))
    except Invalid as error:
        raise BlueprintInvalid(file, _located(root, each_error(error))) from error


def _located(root: ConfigMapping, errors: Iterable[Invalid]) -> list[ConfigError]:
    found = []
    for error in errors:
        keys = (BLUEPRINT, *(key if isinstance(key, int) else str(key) for key in error.path))
        is_about_key = error.msg.startswith("extra keys")
        mark = (key_mark_of if is_about_key else mark_of)(root, keys, root.mark)
        message = phrase("there is no key {key} here", key=keys[-1]) if is_about_key else error.msg
        found.append(ConfigError.at(mark, keys, message))
    return found


def _check_inputs(file: str, tags: InputTags, metadata: Metadata) -> None:
    known = metadata.inputs
    errors = [
        ConfigError.at(
            mark,
            keys,
            phrase("there is no input {name}", name=name),
            did_you_mean(name, known, known=phrase("there are")),
        )
        for name, (mark, keys) in tags.used.items()
        if name not in known
    ]
    if errors:
        raise BlueprintInvalid(file, errors)


def _invalid(file: str, mark: Mark, keys: KeyPath, message: str) -> BlueprintInvalid:
    return BlueprintInvalid(file, [ConfigError.at(mark, keys, message)])

"""Validates one section: collects all errors, without exposing secrets in them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import Struct

from hub.config.errors import ConfigError
from hub.config.explain import explain, keys_of, leaks
from hub.config.marks import BROKEN, ConfigList, ConfigMapping, Mark, mark_of, plain, value_at
from hub.config.paths import KeyPath
from hub.config.scalars import BadScalar, resolve_plain
from hub.config.schema_walk import is_secret_at
from hub.config.sections import Section
from hub.core.json_schema import JsonSchema, to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import SchemaError, each_error
from hub.core.secret import Secret, SecretFloat, SecretInt, SecretText, by_origin


class Validated(Struct, frozen=True):
    """The result of validating a section or an item: its value and secrets, or the reason why it has none."""

    value: Any
    errors: tuple[ConfigError, ...] = ()
    broken: bool = False
    secrets: tuple[Secret, ...] = ()


class SectionCheck:
    """Validates values of one section within a configuration.

    Args:
        section: What it must be.
        root: The whole configuration, for marks.
        start: The mark of its beginning.
        may_be_broken: Whether anything could not be read, so that `BROKEN` may occur in it.
    """

    def __init__(self, section: Section, root: ConfigMapping, start: Mark, *, may_be_broken: bool) -> None:
        self._section = section
        self._validate = section.validate
        self._root = root
        self._start = start
        self._may_be_broken = may_be_broken

    def whole(self, value: Any) -> Validated:
        """Validate the section's value."""
        return self._check(value)

    def item(self, value: Any, index: int) -> Validated:
        """Validate one item of the section's list, as a list of one."""
        found = self._check([value], index)
        if found.broken or not isinstance(found.value, list) or len(found.value) != 1:
            return Validated(None, found.errors, broken=True)
        return Validated(found.value[0], secrets=found.secrets)

    def validate_entry(self, value: Any, name: str) -> Validated:
        """Validate one entry of the section's mapping, as a mapping of one."""
        found = self._check({name: value})
        if found.broken or not isinstance(found.value, dict) or len(found.value) != 1:
            return Validated(None, found.errors, broken=True)
        return Validated(next(iter(found.value.values())), secrets=found.secrets)

    def _check(self, value: Any, index: int | None = None) -> Validated:
        data = plain(value)
        revealed: dict[KeyPath, str] = {}
        errors: list[SchemaError] = []
        while True:
            try:
                result = self._validate(data)
            except SchemaError as error:
                errors = [each for each in each_error(error) if not self._follows(keys_of(each), value)]
            else:
                errors = []
                if not self._may_be_broken or not _has_broken(value):
                    return Validated(result, secrets=tuple(_secrets_in(result, [])))
                break
            if not self._reveal(data, value, errors, revealed):
                break
        told = tuple(self._tell(error, index, revealed) for error in errors)
        return Validated(None, told, broken=True)

    def _follows(self, keys: KeyPath, value: Any) -> bool:
        """Return whether an error is only a consequence of an unreadable value that was already reported."""
        if not self._may_be_broken:
            return False
        for length in range(len(keys) + 1):
            around = value_at(value, keys[:length]) if length else value
            if around is BROKEN or (
                isinstance(around, dict) and any(around.get(sign) is BROKEN for sign in ("?", "<<"))
            ):
                return True
        return False

    @cached_property
    def _schema(self) -> JsonSchema:
        return to_json_schema(self._section.schema)

    def _reveal(self, data: Any, value: Any, errors: list[SchemaError], revealed: dict[KeyPath, str]) -> bool:
        """Replace a secret by its text, then its number, where the schema expects no secret; return whether any was."""
        changed = False
        for error in errors:
            keys = keys_of(error)
            secret = value_at(value, keys) if keys else None
            holder = value_at(data, keys[:-1]) if keys else None
            if not isinstance(secret, Secret) or not isinstance(holder, (dict, list)):
                continue
            if is_secret_at(self._schema, keys):
                continue
            text = secret.reveal()
            now = value_at(data, keys)
            if isinstance(now, Secret):
                put: Any = SecretText(text)
            elif isinstance(now, SecretText) and not isinstance(number := _number(text), str):
                put = number if number is None or isinstance(number, bool) else by_origin(text, number)
            else:
                continue
            revealed[keys] = text
            holder[keys[-1]] = put  # type: ignore[index]
            changed = True
        # Validating may have changed parts of the data it was given: start again from the same data.
        return changed

    def _tell(self, error: SchemaError, index: int | None, revealed: dict[KeyPath, str]) -> ConfigError:
        at_secret = keys_of(error) in revealed
        if index is not None:
            error.path[:1] = [index] if error.path else []
        told = explain(error, self._root, self._start, (self._section.name,), self._schema)
        if at_secret:
            return told
        if any(leaks(text, told.message) for text in revealed.values()):
            message = phrase("this is not valid here; it holds a secret, so it is not shown")
            return ConfigError.at(mark_of(self._root, told.keys, self._start), told.keys, message)
        return told


def _secrets_in(value: Any, found: list[Secret]) -> list[Secret]:
    if isinstance(value, dict):
        for each in value.values():
            _secrets_in(each, found)
    elif isinstance(value, (list, tuple)):
        for each in value:
            _secrets_in(each, found)
    elif isinstance(value, Secret):
        found.append(value)
    elif isinstance(value, (SecretText, SecretInt, SecretFloat)):
        found.append(Secret(str(value)))
    return found


def _number(text: str) -> Any:
    try:
        return resolve_plain(text)
    except BadScalar:
        return text


def _has_broken(value: Any) -> bool:
    if value is BROKEN:
        return True
    if isinstance(value, ConfigMapping):
        return any(_has_broken(each) for each in value.values())
    if isinstance(value, (ConfigList, list)):
        return any(_has_broken(each) for each in value)
    return False

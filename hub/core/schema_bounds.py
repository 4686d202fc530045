"""The schema library with limits on collected errors and checked unknown keys.

Imported through `hub.core.schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import islice
from typing import Any, Self

from voluptuous import (
    ALLOW_EXTRA,
    PREVENT_EXTRA,
    UNDEFINED,
    Any as _FirstOf,
    Invalid,
    Marker,
    MultipleInvalid,
    Optional as _BaseOptional,
    Remove,
    Required as _BaseRequired,
    RequiredFieldInvalid,
    Schema as _BaseSchema,
)
from voluptuous.schema_builder import default_factory

from hub.core.phrases import phrase

ERRORS_LIMIT = 20
"""Errors after which a check stops."""
UNKNOWN_KEYS_LIMIT = 64
"""The number of unknown keys that are checked one by one."""
MESSAGE_LIMIT_BYTES = 2_000
REQUIRED_MESSAGE = "required key not provided"
"""The library's message for a missing key."""
_BATCH = 64
_NAMED = (bool, bytes, int, str, float, complex)


class Schema(_BaseSchema):
    """A schema that reports the errors of all items of a list, not only those of the first bad item.

    Its work is bounded: it stops after 20 errors, and looks at no more than 64 keys that it does not know. It is
    compiled on first use: a hub has hundreds, and most are never used.
    """

    def __init__(self, schema: Any, required: bool = False, extra: int = PREVENT_EXTRA) -> None:
        self.schema = schema
        self.required = required
        self.extra = int(extra)

    @cached_property
    def _compiled(self) -> Callable[[list[Any], Any], Any]:
        return self._compile(self.schema)  # type: ignore[no-any-return, no-untyped-call]

    def __call__(self, data: Any) -> Any:
        """Return the valid data.

        Raises:
            MultipleInvalid: The data does not fit; with at most 20 errors.
        """
        try:
            return self._compiled([], data)
        except MultipleInvalid as error:
            _put_in_order(error.errors)
            del error.errors[ERRORS_LIMIT:]
            raise
        except Invalid as error:
            raise MultipleInvalid([error]) from None

    def checked(self) -> Self:
        """Return the compiled schema, for a schema from outside.

        Raises:
            Invalid: It is not a schema; the library raises further kinds.
        """
        if isinstance(self.schema, Schema):
            self.schema.checked()
        _ = self._compiled
        return self

    def _compile_sequence(self, schema: Any, seq_type: type) -> Callable[[list[Any], Any], Any]:
        first_error_only = super()._compile_sequence(schema, seq_type)  # type: ignore[no-untyped-call]
        validators = [self._compile(each) for each in schema]  # type: ignore[no-untyped-call]

        def validate(path: list[Any], data: Any) -> Any:
            if type(data) is not list or seq_type is not list or not validators:
                return first_error_only(path, data)
            valid: list[Any] = []
            errors: list[Invalid] = []
            for index, item in enumerate(data):
                found = _first_valid(validators, [*path, index], item)
                if isinstance(found, Invalid):
                    errors.extend(each_error(found))
                elif found is not Remove:
                    valid.append(found)
                if len(errors) >= ERRORS_LIMIT:
                    break
            if errors:
                raise MultipleInvalid(errors)
            return valid

        return validate

    def _compile_dict(self, schema: Any) -> Callable[[list[Any], Any], Any]:
        validate = super()._compile_dict(schema)  # type: ignore[no-untyped-call]
        named = {_key_of(key) for key in schema if isinstance(_key_of(key), _NAMED)}
        patterns = {key: value for key, value in schema.items() if not isinstance(_key_of(key), _NAMED)}
        validate_batch = super()._compile_dict(patterns) if patterns else None  # type: ignore[no-untyped-call]

        def bounded(path: list[Any], data: Any) -> Any:
            if not isinstance(data, dict) or len(data) <= len(named) + UNKNOWN_KEYS_LIMIT:
                return validate(path, data)
            if validate_batch is None and self.extra == PREVENT_EXTRA:
                raise Invalid(
                    phrase("expected at most {most} keys, got {count}", most=len(named), count=len(data)), path
                )
            known = validate(path, {key: data[key] for key in named if key in data})
            if validate_batch is None:
                return {**data, **known} if self.extra == ALLOW_EXTRA else known
            rest = [(key, value) for key, value in data.items() if key not in named]
            return known | _in_batches(validate_batch, path, rest)

        return bounded


class _Key(Marker):
    """A key whose own schema is made on first use: a hub has more than a thousand, and the library's take 2 kB each."""

    def __init__(
        self,
        schema: Any,
        msg: str | None = None,
        default: Any = UNDEFINED,
        description: Any | None = None,
        *,
        asked: bool | None = None,
    ) -> None:
        self.schema = schema
        self.asked = asked
        """Whether set-up asks for it; by itself, for secrets and for what must be given."""
        self.msg = msg
        self.description = description
        self.default = default_factory(default)

    @cached_property
    def _schema(self) -> _BaseSchema:  # type: ignore[override]
        return _BaseSchema(self.schema)

    def __hash__(self) -> int:
        return hash(self.schema)


class Optional(_Key, _BaseOptional):
    """A key that may be left out."""


class Required(_Key, _BaseRequired):
    """A required key; one of several alternatives, if it has them."""

    @property
    def is_complex_key(self) -> bool:
        """Whether the key has alternatives."""
        return isinstance(self.schema, _FirstOf)

    @property
    def candidate_keys(self) -> list[Any]:  # type: ignore[override]
        """The alternatives of the key."""
        return self._extract_candidate_keys(self.schema)  # type: ignore[no-any-return, no-untyped-call]


class AnyOf(_FirstOf):
    """The first alternative that fits; if none does, the errors of the one that was most likely intended.

    That is one whose constant keys (`type: time`) the value has, then the one that got deepest.
    """

    def _exec(self, funcs: Iterable[Callable[..., Any]], v: Any, path: list[Any] | None = None) -> Any:
        errors: list[Invalid] = []
        try:
            for func in funcs:
                try:
                    return func(v) if path is None else func(path, v)
                except Invalid as error:
                    errors.append(error)
            if self.msg is not None or not errors:
                raise Invalid(self.msg or phrase("no alternative fits"), path)
            raise max(errors, key=_likelihood)
        finally:
            del errors  # each knows the frame it went through: a circle that only the collector would find


def _key_of(key: Any) -> Any:
    return key.schema if isinstance(key, Marker) else key


def _in_batches(
    validate: Callable[[list[Any], Any], Any], path: list[Any], items: list[tuple[Any, Any]]
) -> dict[Any, Any]:
    """Return valid items; stop after the batch in which the number of errors reaches the limit."""
    valid: dict[Any, Any] = {}
    errors: list[Invalid] = []
    for start in range(0, len(items), _BATCH):
        try:
            valid |= validate(path, dict(items[start : start + _BATCH]))
        except Invalid as error:
            errors.extend(each_error(error))
        if len(errors) >= ERRORS_LIMIT:
            break
    if errors:
        raise MultipleInvalid(errors)
    return valid


def _first_valid(validators: list[Callable[[list[Any], Any], Any]], path: list[Any], item: Any) -> Any:
    """Return the result of the first validator that accepts an item, else the likeliest error."""
    errors: list[Invalid] = []
    try:
        for validate in validators:
            try:
                return validate(path, item)
            except Invalid as error:
                errors.append(error)
        return max(errors, key=_likelihood)
    finally:
        del errors  # see `AnyOf`


def _likelihood(error: Invalid) -> tuple[bool, int, int]:
    """Rank the error of an alternative: no constant contradicted, deep, few."""
    singles = list(each_error(error))
    nearest = min(len(each.path) for each in singles)
    contradicted = any(each.msg == "not a valid value" and len(each.path) == nearest for each in singles)
    return not contradicted, max(len(each.path) for each in singles), -len(singles)


def _put_in_order(errors: list[Invalid]) -> None:
    """Put the keys that are missing in one order: the library keeps them in a set, and tells them in any."""
    places = [place for place, error in enumerate(errors) if isinstance(error, RequiredFieldInvalid)]
    ordered = sorted((errors[place] for place in places), key=lambda error: [str(key) for key in error.path])
    for place, error in zip(places, ordered, strict=True):
        errors[place] = error


def each_error(error: Invalid) -> Iterable[Invalid]:
    """Yield the single errors inside a schema error."""
    if isinstance(error, MultipleInvalid):
        for inner in error.errors:
            yield from each_error(inner)
        return
    yield error


def describe_error(error: Invalid) -> str:
    """Return a schema error in one line of at most 2 kB: each path and what was expected there."""
    lines = []
    for each in islice(each_error(error), ERRORS_LIMIT):
        message = "required" if each.msg == REQUIRED_MESSAGE else str(each.msg)
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{_cut(str(part), 200)}" for part in each.path)
        lines.append(f"{path.lstrip('.')}: {message}" if path else message)
    return _cut("; ".join(lines), MESSAGE_LIMIT_BYTES)


def _cut(text: str, limit_bytes: int) -> str:
    """Return the text, or its beginning and an ellipsis when it is longer than so many bytes."""
    if len(text) * 4 <= limit_bytes:
        return text
    raw = text[: limit_bytes + 1].encode("utf-8", "replace")
    return text if len(raw) <= limit_bytes else raw[: limit_bytes - 3].decode("utf-8", "ignore") + "…"

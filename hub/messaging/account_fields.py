"""The fields of a channel's account: which of them set-up asks for, and the ways of which one is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from hub.config.scalars import BadScalar, resolve_plain
from hub.core.json_schema import to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import Invalid

_AS_YAML = ("integer", "number", "boolean")


class Way(Struct, frozen=True):
    """One of several ways to sign in to a platform, or to reach it.

    Attributes:
        label: Its name, for people.
        needs: The fields that it takes.
        may: Fields that go only with it, and may be left out.
    """

    label: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """All its fields."""
        return self.needs + self.may


class OneWay:
    """A validator of accounts: they have the fields of exactly one way; set-up asks which, and then for these.

    Args:
        ways: One without needs is taken when no field of another is given.
    """

    def __init__(self, *ways: Way) -> None:
        self._ways = ways
        self.json_schema: Mapping[str, Any] = {"ways": [asdict(way) for way in ways]}

    def __call__(self, account: dict[str, Any]) -> dict[str, Any]:
        """Return the account.

        Raises:
            Invalid: It has the fields of no way, of a part of one, or of several.
        """
        chosen = [way for way in self._ways if way.needs and any(name in account for name in way.needs)]
        chosen = chosen or [way for way in self._ways if not way.needs]
        if len(chosen) != 1 or any(name not in account for name in chosen[0].needs):
            choices = [f"{' + '.join(way.needs)} ({way.label})" if way.needs else way.label for way in self._ways]
            raise Invalid(
                phrase("expected {choices} or {last}, and only one of them", choices=choices[:-1], last=choices[-1])
            )
        for way in self._ways:
            for name in way.may:
                if account.get(name) and name not in chosen[0].fields:
                    told = phrase("expected only with {fields} ({way})", fields=way.needs, way=way.label)
                    raise Invalid(told, path=[name])
        return account


class AccountForm(Struct, frozen=True):
    """What an account can be given.

    Attributes:
        fields: Each with its name, type and text; `asked` says whether set-up asks for it. Required ones come first.
        ways: Of which one is chosen, as `Way` with plain data.
    """

    fields: Sequence[dict[str, Any]] = ()
    ways: Sequence[dict[str, Any]] = ()


def account_form(schema: Any) -> AccountForm:
    """Return what one account of a channel can be given; nothing when its section is not a list of accounts.

    Args:
        schema: The section's schema.
    """
    described = to_json_schema(schema)
    items = next((each["items"] for each in described.get("anyOf", [described]) if each.get("type") == "array"), None)
    if not isinstance(items, Mapping) or "properties" not in items:
        return AccountForm()
    required, ways = items.get("required", ()), items.get("ways", [])
    properties, ways = _flat(items["properties"], ways)
    needed = {*required, *(name for way in ways for name in way["needs"])}
    of_a_way = {name for way in ways for name in (*way["needs"], *way["may"])}
    fields = [
        {
            "name": name,
            "required": name in required,
            "secret": bool(field.get("writeOnly")),
            "asked": bool(field.get("asked", name in needed or field.get("writeOnly"))),
            "description": field.get("description", ""),
            "default": field.get("default"),
            "choices": field.get("enum"),
            "type": _type(field),
        }
        for name, field in properties.items()
    ]
    fields.sort(key=lambda field: (not field["required"], field["name"] not in of_a_way))
    return AccountForm(fields, ways)


def is_given(account: Mapping[str, Any], name: str) -> bool:
    """Return whether an account as configured has a field, whose name may be dotted."""
    value: Any = account
    for key in name.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True


def typed_value(field: Mapping[str, Any], value: Any) -> Any:
    """Return what a person typed for a field as its type wants it: a number, true or false, a list by its commas.

    Text that is not of the type stays as it is, so that the schema says what is wrong.
    """
    if not isinstance(value, str) or field["secret"]:
        return value
    if field["type"] == "array":
        return [each for part in value.split(",") if (each := part.strip())]
    if field["type"] in _AS_YAML:
        try:
            return resolve_plain(value.strip())
        except BadScalar:
            return value
    return value


def _flat(
    properties: Mapping[str, Any], ways: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return fields and ways with the mappings that a way needs as fields of their own, with dotted names."""
    flat, dotted = dict(properties), []
    for way in ways:
        needs, may = list(way["needs"]), list(way["may"])
        for name in way["needs"]:
            inner = properties[name]
            if inner.get("type") != "object":
                continue
            del flat[name]
            names = {key: f"{name}.{key}" for key in inner["properties"]}
            flat |= {names[key]: field for key, field in inner["properties"].items()}
            needs.remove(name)
            needs += [names[key] for key in inner.get("required", ())]
            may += [names[key] for key in names if names[key] not in needs]
        dotted.append({**way, "needs": needs, "may": may})
    return flat, dotted


def _type(field: Mapping[str, Any]) -> str | None:
    if any(each.get("type") == "array" for each in field.get("anyOf", ())):
        return "array"
    kind = field.get("type")
    return kind if isinstance(kind, str) else None

"""A blueprint as a form: its inputs in sections, with the values filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import InvalidRequest
from hub.core.schema import SchemaError, each_error
from web.automations.selector_fields import InputControl, input_control, is_same, parse_texts, texts_of
from web.core.form_fields import MISSING
from web.core.i18n import Catalogue
from web.core.suggestions import Suggestions
from web.core.texts import REQUIRED

PREFIX = "input."
USE = "use_blueprint"

Fields = Mapping[str, Sequence[str]]


class FormSection(Struct):
    """Inputs that are shown together."""

    name: str
    description: str
    collapsed: bool
    fields: list[InputControl]

    def as_dict(self) -> dict[str, Any]:
        """The section as templates and JSON see it; one with a mistake is open."""
        return {
            "name": self.name,
            "description": self.description,
            "collapsed": self.collapsed and not any(field.error for field in self.fields),
            "fields": [field.as_dict() for field in self.fields],
        }


class BlueprintForm(Struct):
    """The form."""

    sections: list[FormSection]

    def as_list(self) -> list[dict[str, Any]]:
        """The form as templates and JSON see it."""
        return [section.as_dict() for section in self.sections]

    def controls(self) -> Iterator[InputControl]:
        """Yield every field."""
        for section in self.sections:
            yield from section.fields

    @property
    def has_errors(self) -> bool:
        """Whether anything is wrong at a field."""
        return any(control.error for control in self.controls())

    def take(self, fields: Fields, words: Catalogue) -> dict[str, Any]:
        """Return the posted inputs; errors are shown at their fields, with the text as typed.

        Values equal to the default are left out.
        """
        found: dict[str, Any] = {}

        def taken(control: InputControl) -> InputControl:
            texts = fields.get(control.name)
            if texts is None and not control.required:
                return control
            if texts is not None and control.shown and is_same(control, texts):
                return control  # the same text is the same value, however it is written in the blueprint
            try:
                value = MISSING if texts is None else parse_texts(control, texts)
            except InvalidRequest as error:
                return replace(control, shown=tuple(texts or ()), error=error.message)
            if control.required and value in (MISSING, []):
                return replace(control, shown=(), error=words.gettext(REQUIRED))
            if value is not MISSING and not _same(value, control.default):
                found[control.key] = value
            return replace(control, shown=texts_of(control, texts or ()))

        for section in self.sections:
            section.fields = [taken(control) for control in section.fields]
        return found

    def place_errors(self, error: SchemaError) -> list[str]:
        """Put errors of inputs at their fields; return the other errors."""
        left = []
        for each in each_error(error):
            path = [str(part) for part in each.path]
            if path[:2] != [USE, "input"] or not self._place(path[2:], str(each.msg)):
                left.append(str(each.msg))
        return left

    def _place(self, path: list[str], message: str) -> bool:
        if not path:
            return False
        for section in self.sections:
            for at, control in enumerate(section.fields):
                if control.key == path[0]:
                    where = f"{'.'.join(path[1:])}: " if path[1:] else ""
                    before = f"{control.error}; " if control.error else ""
                    section.fields[at] = replace(control, error=f"{before}{where}{message}")
                    return True
        return False


def blueprint_form(
    sections: Sequence[Mapping[str, Any]], suggestions: Suggestions, given: Mapping[str, Any] | None = None
) -> BlueprintForm:
    """Return the form of a blueprint.

    Args:
        sections: The sections as `Blueprints.show` has them.
        given: Values of inputs now.
    """
    values = given or {}
    return BlueprintForm(
        [
            FormSection(
                section["name"],
                section["description"],
                section["collapsed"],
                [
                    input_control(PREFIX, field, suggestions, values.get(field["key"], MISSING))
                    for field in section["inputs"]
                ],
            )
            for section in sections
        ]
    )


def _same(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)

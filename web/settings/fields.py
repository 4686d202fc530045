"""The settings with a field in the browser, by page and card, and the conversion between values and texts.

A field accepts what its section's schema accepts, the one that checks the files.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from hub.config.spans import Tagged
from hub.core.phrases import phrase
from hub.gateway.calls.schema import serves_network
from web.core.form_fields import MISSING, Control, control_of, parse_text
from web.core.i18n import LANGUAGES, Catalogue

SEGMENTS_LIMIT = 4
DISCOVERY = ("discovery", "mdns")


class SettingField(Struct, frozen=True):
    """One setting.

    Attributes:
        path: The path of its key in the configuration.
        label, help: Message ids.
        widget: Overrides the one of its schema.
        options: The labels of its values, in this order.
        placeholder: The effective value without it, where the schema has no default, or none for people.
        absent: Returns the effective value while the files do not have its section, if that is another one.
        secret: The name in `secrets.yaml` that a typed value gets; such a value is never shown.
    """

    path: tuple[str, ...]
    label: str
    help: str = ""
    widget: str = ""
    options: tuple[tuple[str, str], ...] = ()
    placeholder: str = ""
    absent: Callable[[Mapping[str, Any]], str] = lambda raw: ""
    unit: str = ""
    secret: str = ""

    @property
    def name(self) -> str:
        """Under which it is posted."""
        return ".".join(self.path)


class SettingCard(Struct, frozen=True):
    """Settings that belong together; its title is a message id.

    Attributes:
        folded: Whether they are folded away as long as none is set.
    """

    title: str
    fields: tuple[SettingField, ...]
    folded: bool = False


KEPT = (
    ("1d", phrase("1 day")),
    ("7d", phrase("7 days")),
    ("30d", phrase("30 days")),
    ("90d", phrase("90 days")),
    ("365d", phrase("1 year")),
    ("400d", phrase("400 days")),
    ("1095d", phrase("3 years")),
)
"""How long things may be kept."""
GENERAL = (
    SettingCard(
        phrase("Your home"),
        (
            SettingField(("hub", "name"), phrase("Name of the home")),
            SettingField(
                ("hub", "language"),
                phrase("Language"),
                phrase("Of the assistant; a browser may choose its own."),
                "select",
                tuple(LANGUAGES.items()),
            ),
            SettingField(("hub", "time_zone"), phrase("Time zone"), widget="zone"),
        ),
    ),
    SettingCard(
        phrase("Place"),
        (
            SettingField(("hub", "latitude"), phrase("Latitude"), phrase("For sunrise, sunset and weather."), unit="°"),
            SettingField(("hub", "longitude"), phrase("Longitude"), unit="°"),
            SettingField(("hub", "elevation"), phrase("Elevation"), unit="m"),
        ),
    ),
)
NETWORK = (
    SettingCard(
        phrase("How browsers and apps reach the hub"),
        (
            SettingField(
                ("http", "host"),
                phrase("Listen on"),
                phrase("127.0.0.1: only this computer. 0.0.0.0: your network."),
                "text",
            ),
            SettingField(("http", "port"), phrase("Port")),
            SettingField(
                ("http", "auth", "mode"),
                phrase("Signing in"),
                options=(
                    ("token", phrase("Link or token")),
                    ("password", phrase("Password")),
                    ("trusted_proxy", phrase("A proxy decides")),
                    ("none", phrase("Nothing")),
                ),
            ),
            SettingField(("http", "allowed_hosts"), phrase("Further names of the hub"), widget="list"),
            SettingField(("http", "trusted_proxies"), phrase("Trusted proxies"), widget="list"),
        ),
    ),
    SettingCard(
        phrase("What the hub may reach"),
        (
            SettingField(
                ("network", "allow_private"),
                phrase("Private addresses"),
                phrase("Of pages, feeds and models at home, as host:port."),
                "list",
            ),
        ),
    ),
    SettingCard(
        phrase("Who finds whom in your network"),
        (
            SettingField(
                DISCOVERY,
                phrase("Announce the hub, and look for devices"),
                phrase("What is found waits on Devices › Found until you set it up."),
                options=(
                    ("off", phrase("Off")),
                    ("minimal", phrase("By this computer’s name")),
                    ("full", phrase("By the home’s name")),
                ),
                absent=lambda raw: "minimal" if serves_network(raw.get("http")) else "off",
            ),
        ),
    ),
)
PRIVACY = (
    SettingCard(
        phrase("Commands on this machine"),
        (
            SettingField(
                ("exec", "mode"),
                phrase("When an agent wants to run a command"),
                phrase("Text that others wrote never runs a command unasked."),
                options=(
                    ("ask", phrase("Ask me")),
                    ("allowlist", phrase("Only allowed ones")),
                    ("full", phrase("Run what I ask for")),
                    ("deny", phrase("Never")),
                ),
                placeholder="ask",
            ),
            SettingField(
                ("exec", "allow"), phrase("Allowed without asking"), phrase("Word by word; * is any one word."), "list"
            ),
            SettingField(("exec", "trust_output"), phrase("Trust what commands print")),
        ),
    ),
    SettingCard(
        phrase("How long things are kept"),
        (
            SettingField(("hub", "history", "states"), phrase("States of devices"), "", "select", KEPT, "30d"),
            SettingField(("hub", "history", "events"), phrase("Events"), "", "select", KEPT, "7d"),
            SettingField(("hub", "history", "traces"), phrase("Runs and why they happened"), "", "select", KEPT, "30d"),
            SettingField(("hub", "history", "usage"), phrase("Usage and cost"), "", "select", KEPT, "400d"),
        ),
    ),
)
BACKUP = (
    SettingCard(
        phrase("When, and how many are kept"),
        (
            SettingField(
                ("backup", "schedule", "every"),
                phrase("A backup is made"),
                options=(
                    ("never", phrase("When I ask for it")),
                    ("day", phrase("Every day")),
                    ("week", phrase("Every week")),
                ),
            ),
            SettingField(("backup", "schedule", "at"), phrase("At"), widget="time"),
            SettingField(
                ("backup", "schedule", "weekday"),
                phrase("Day of the week"),
                phrase("When it is every week."),
                "select",
                (
                    ("mon", phrase("Monday")),
                    ("tue", phrase("Tuesday")),
                    ("wed", phrase("Wednesday")),
                    ("thu", phrase("Thursday")),
                    ("fri", phrase("Friday")),
                    ("sat", phrase("Saturday")),
                    ("sun", phrase("Sunday")),
                ),
            ),
            SettingField(("backup", "keep", "daily"), phrase("Keep the last of so many days")),
            SettingField(("backup", "keep", "weekly"), phrase("Of so many weeks")),
            SettingField(("backup", "keep", "monthly"), phrase("Of so many months")),
        ),
    ),
    SettingCard(
        phrase("What, and where"),
        (
            SettingField(
                ("backup", "passphrase"),
                phrase("Passphrase"),
                phrase("Write it down: without it nobody can restore."),
                "secret",
                secret="backup_passphrase",  # noqa: S106  its name
            ),
            SettingField(("backup", "history"), phrase("With the history of devices, runs and usage")),
            SettingField(
                ("backup", "to", "folder"), phrase("Folder"), phrase("In the home, or a path such as /media/stick.")
            ),
        ),
    ),
    SettingCard(
        phrase("A copy on WebDAV"),
        (
            SettingField(
                ("backup", "to", "webdav", "url"),
                phrase("Address"),
                phrase("Of a folder that exists, such as on Nextcloud."),
            ),
            SettingField(("backup", "to", "webdav", "username"), phrase("User name")),
            SettingField(
                ("backup", "to", "webdav", "password"),
                phrase("Password"),
                widget="secret",
                secret="backup_webdav_password",  # noqa: S106  its name
            ),
        ),
        folded=True,
    ),
    SettingCard(
        phrase("A copy in a bucket (S3)"),
        (
            SettingField(("backup", "to", "s3", "endpoint"), phrase("Address")),
            SettingField(("backup", "to", "s3", "bucket"), phrase("Bucket")),
            SettingField(("backup", "to", "s3", "region"), phrase("Region")),
            SettingField(("backup", "to", "s3", "prefix"), phrase("Names begin with")),
            SettingField(
                ("backup", "to", "s3", "access_key"),
                phrase("Access key"),
                widget="secret",
                secret="backup_s3_access_key",  # noqa: S106  its name
            ),
            SettingField(
                ("backup", "to", "s3", "secret_key"),
                phrase("Secret key"),
                widget="secret",
                secret="backup_s3_secret_key",  # noqa: S106  its name
            ),
        ),
        folded=True,
    ),
)
UPDATE = (
    SettingCard(
        phrase("Look for new versions"),
        (
            SettingField(
                ("hub", "update", "check"),
                phrase("By itself"),
                phrase(
                    "The hub then asks where it was installed from. Without it, nobody learns that this home is there."
                ),
                options=(("never", phrase("Never")), ("daily", phrase("Every day"))),
            ),
        ),
    ),
)
PAGES: Mapping[str, tuple[str, str, tuple[SettingCard, ...]]] = {
    "general": ("/settings", phrase("General"), GENERAL),
    "network": ("/settings/network", phrase("Network"), NETWORK),
    "privacy": ("/settings/privacy", phrase("Privacy and approvals"), PRIVACY),
    "backup": ("/settings/backup", phrase("Backup"), BACKUP),
    "update": ("/settings/update", phrase("Update"), UPDATE),
}


class ShownField(Struct):
    """A field with its value as text.

    Attributes:
        field: The setting.
        control: Its control.
        text: Its value as text, one value a line in a list.
        was: The text that the form was made with.
        error: The problem with it.
        restarts: Whether a change takes effect only after a restart.
        stated: Whether the files have it, so that it can be reset to its default.
    """

    field: SettingField
    control: Control
    text: str
    was: str
    error: str = ""
    restarts: bool = False
    stated: bool = False

    def value(self) -> Any:
        """Return the value that the text means, MISSING for none.

        Raises:
            InvalidRequest: It means none.
        """
        if self.field.secret:
            return Tagged("!secret", self.field.secret)
        if self.widget == "list":
            return [line.strip() for line in self.text.split("\n") if line.strip()] or MISSING
        return parse_text(self.control, self.text)

    def take(self, posted: Mapping[str, Sequence[str]]) -> None:
        """Take the posted text."""
        name = self.field.name
        self.was = (posted.get(f"was.{name}") or [self.was])[-1]
        if self.widget == "switch":
            self.text = "true" if posted.get(name) else "false"
        elif name in posted:
            lines = [each for each in posted[name] if each.strip()]
            self.text = "\n".join(lines) if self.widget == "list" else posted[name][-1]

    @property
    def is_set(self) -> bool:
        """Whether it matters now: the files have it, or it is wrong."""
        return self.stated or bool(self.error)

    @property
    def widget(self) -> str:
        """The name of its widget."""
        if self.field.widget:
            return {"zone": "select"}.get(self.field.widget, self.field.widget)
        if self.control.kind == "choice":
            choices = self.control.choices
            return (
                "switch"
                if choices == ("true", "false")
                else ("segmented" if len(choices) <= SEGMENTS_LIMIT else "select")
            )
        return {"number": "number", "long": "long", "lines": "list"}.get(self.control.kind, "text")

    def as_dict(self, words: Catalogue) -> dict[str, Any]:
        """The field as templates and JSON see it."""
        options = self.field.options or tuple((each, each) for each in self.control.choices)
        if self.field.widget == "zone":
            options = tuple((each, each) for each in zones())
        if self.widget in ("select", "segmented") and self.text and self.text not in {value for value, _ in options}:
            options = (*options, (self.text, self.text))
        spec = {
            "name": self.field.name,
            "label": words.gettext(self.field.label),
            "help": words.gettext(self.field.help) if self.field.help else "",
            "widget": self.widget,
            "options": [(value, words.gettext(text)) for value, text in options],
            "placeholder": self.field.placeholder or self.control.default,
            "unit": self.field.unit,
            "stored": self.stated,
        }
        value: Any = {"switch": self.text == "true", "list": self.text.split("\n") if self.text else []}.get(
            self.widget, self.text
        )
        return {
            "spec": spec,
            "value": value,
            "was": self.was,
            "error": self.error,
            "restarts": self.restarts,
            "stated": self.stated,
        }


def read_field(field: SettingField, schema: Mapping[str, Any], raw: Mapping[str, Any], *, restarts: bool) -> ShownField:
    """Return a field with the value that the files have.

    Args:
        schema: JSON Schema of its section.
        raw: The whole configuration as written.
    """
    inner: Mapping[str, Any] = schema
    value: Any = raw.get(field.path[0], MISSING)
    for key in field.path[1:]:
        inner = inner.get("properties", {}).get(key, {})
        value = value.get(key, MISSING) if isinstance(value, Mapping) else MISSING
    stated = value is not MISSING
    if field.secret:
        value = MISSING  # it is never shown
    if field.widget == "list" and isinstance(value, str):
        value = [value]
    control = control_of(field.name, field.path[-1], inner, MISSING if isinstance(value, list) else value)
    text = "\n".join(str(each) for each in value) if isinstance(value, list) else control.shown
    if not text and (control.kind == "choice" or field.widget in ("zone", "select", "time")):
        text = (field.absent(raw) if field.path[0] not in raw else "") or field.placeholder or control.default
    return ShownField(field, control, text, text, restarts=restarts, stated=stated)


@lru_cache(maxsize=1)
def zones() -> tuple[str, ...]:
    """Return the time zones that are named after a place, and UTC."""
    return (
        "UTC",
        *sorted(each for each in zoneinfo.available_timezones() if "/" in each and not each.startswith("Etc/")),
    )

"""The entries of the registries: the stored data of areas, floors, labels, devices and entities."""

from __future__ import annotations

from msgspec import Struct


class FloorEntry(Struct, frozen=True, omit_defaults=True):
    """A floor."""

    id: str
    name: str
    level: int | None = None
    aliases: tuple[str, ...] = ()


class AreaEntry(Struct, frozen=True, omit_defaults=True):
    """An area, such as a room."""

    id: str
    name: str
    floor_id: str | None = None
    aliases: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()


class LabelEntry(Struct, frozen=True, omit_defaults=True):
    """A label that areas, devices and entities may carry."""

    id: str
    name: str
    description: str | None = None


class DeviceEntry(Struct, frozen=True, omit_defaults=True):
    """A device.

    Attributes:
        name: The name as it calls itself.
        name_by_user: As its owner calls it.
    """

    id: str
    source: str
    identifiers: frozenset[str] = frozenset()
    connections: frozenset[tuple[str, str]] = frozenset()
    name: str | None = None
    name_by_user: str | None = None
    manufacturer: str | None = None
    model: str | None = None
    sw_version: str | None = None
    hw_version: str | None = None
    serial: str | None = None
    via_device_id: str | None = None
    configuration_url: str | None = None
    area_id: str | None = None
    labels: frozenset[str] = frozenset()

    @property
    def shown_name(self) -> str:
        """The name its owner gave it, else its own."""
        return self.name_by_user or self.name or self.model or self.id


class EntityEntry(Struct, frozen=True, omit_defaults=True):
    """An entity.

    Attributes:
        source, unique_id: Distinguish it from all others.
        name: The name as its owner calls it.
        original_name: As its integration calls it, beside its device's name.
        is_full_name: Whether that name is in it already.
        icon: As its integration shows it.
        icon_by_user: As its owner shows it.
        hidden: Whether it is left out of devices, areas and labels.
        disabled: Whether it has no state.
        exposed: Whether agents see and control it, as its owner decided; None where nobody did.
        new: Whether it appeared by itself and nobody has accepted it yet.
    """

    entity_id: str
    source: str
    unique_id: str
    device_id: str | None = None
    area_id: str | None = None
    name: str | None = None
    original_name: str | None = None
    is_full_name: bool = False
    icon: str | None = None
    device_class: str | None = None
    entity_category: str | None = None
    labels: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    hidden: bool = False
    disabled: bool = False
    exposed: bool | None = None
    new: bool = False
    icon_by_user: str | None = None

    @property
    def shown_icon(self) -> str | None:
        """The icon its owner gave it, else its own."""
        return self.icon_by_user or self.icon

    @property
    def domain(self) -> str:
        """Its domain."""
        return self.entity_id.partition(".")[0]

    @property
    def is_exposed(self) -> bool:
        """Whether agents see and control it: by default, unless it is new, hidden or for settings and diagnosis."""
        return self.exposed if self.exposed is not None else not (self.new or self.hidden or self.entity_category)

    @property
    def is_new(self) -> bool:
        """Whether agents may not use it only because nobody has accepted it yet."""
        return self.new and self.exposed is None


class RegistryData(Struct, frozen=True):
    """The stored contents of all registries."""

    floors: list[FloorEntry] = []
    areas: list[AreaEntry] = []
    labels: list[LabelEntry] = []
    devices: list[DeviceEntry] = []
    entities: list[EntityEntry] = []

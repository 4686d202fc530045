"""Finds the entities that a person means by words such as "the kitchen lights" or 客厅的灯. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from hub.core.lazy_pattern import LazyPattern

_WORD = LazyPattern(r"[^\W_\u3400-\u9fff]+|[\u3400-\u9fff]")
_LITTLE = frozenset({*("the", "a", "an", "my", "our", "in", "on", "at", "of", "all", "every"), *"的里在所有全部都把个"})
_ALL = frozenset({"all", "every", "所有", "全部", "都"})
_KIND_WORDS: Mapping[str, str] = {
    "light": "light lamp 灯",
    "switch": "switch plug outlet socket 开关 插座",
    "cover": "blind shade curtain shutter cover 窗帘 百叶窗 卷帘",
    "cover/garage": "garage door 车库门",
    "cover/door": "door 门",
    "cover/gate": "gate 大门",
    "fan": "fan 风扇",
    "lock": "lock door 锁 门",
    "climate": "thermostat heating heater radiator climate ac conditioner temperature 空调 暖气 温度",
    "media_player": "speaker tv television music player 电视 音箱",
    "vacuum": "vacuum robot cleaner 扫地机",
    "valve": "valve water 阀门",
    "button": "button 按钮",
    "scene": "scene 场景",
    "camera": "camera 摄像头",
    "sensor/temperature": "temperature warm cold hot sensor 温度",
    "sensor/humidity": "humidity humid sensor 湿度",
    "sensor/battery": "battery 电量 电池",
    "sensor/power": "power 功率",
    "sensor/energy": "energy consumption 电能 用电",
    "sensor/illuminance": "brightness bright illuminance 亮度",
    "binary_sensor/door": "door 门",
    "binary_sensor/garage_door": "garage door 车库门",
    "binary_sensor/window": "window 窗",
    "binary_sensor/motion": "motion movement 移动",
    "binary_sensor/occupancy": "occupancy presence 有人",
    "binary_sensor/smoke": "smoke 烟雾",
    "binary_sensor/moisture": "leak water 漏水",
}
"""What people call the kinds of entities: a domain, or a domain and a device class."""


class NamedEntity(Struct, frozen=True):
    """An entity that may be named: its names, and the names of its area and floor."""

    entity_id: str
    names: tuple[str, ...]
    places: tuple[str, ...] = ()
    device_class: str = ""

    @property
    def domain(self) -> str:
        """Its domain."""
        return self.entity_id.partition(".")[0]


class _Match(Struct, frozen=True, order=True):
    uncovered: int
    extra: int
    candidate: str


def words_of(text: str) -> list[str]:
    """Return the words of a text as they are compared: plural forms as singular ones, Chinese by characters."""
    return [_singular(each) for each in _WORD.findall(text.casefold())]


def kinds_of(candidate: NamedEntity) -> set[str]:
    """Return the words for the kind of an entity."""
    keys = (candidate.domain, f"{candidate.domain}/{candidate.device_class}")
    return {word for key in keys for word in words_of(_KIND_WORDS.get(key, ""))}


def find(text: str, candidates: Iterable[NamedEntity]) -> list[NamedEntity]:
    """Return the entities that have all words of a text in their names, their places and their kind, the best first."""
    return [candidate for _, candidate in _matches(text, candidates)]


def find_named(text: str, candidates: Iterable[NamedEntity]) -> list[NamedEntity]:
    """Return the intended entities: all matches if "all" or a plural is said, else the best."""
    found = _matches(text, candidates)
    if not found or _is_several(text):
        return [candidate for _, candidate in found]
    best = found[0][0]
    return [each for match, each in found if (match.uncovered, match.extra) == (best.uncovered, best.extra)]


def is_clear(text: str, found: Sequence[NamedEntity]) -> bool:
    """Whether several entities may be acted on at once: they were named by their kind, not by a shared name."""
    if len(found) < 2:
        return True
    said = set(words_of(text))
    return len({each.domain for each in found}) == 1 and any(said & kinds_of(each) for each in found)


def _matches(text: str, candidates: Iterable[NamedEntity]) -> list[tuple[_Match, NamedEntity]]:
    said = set(words_of(text)) - _LITTLE
    found = []
    for each in candidates:
        best: _Match | None = None
        around = {word for place in each.places for word in words_of(place)} | kinds_of(each)
        for name in each.names:
            own = set(words_of(name))
            if said <= own | around:
                match = _Match(len(said - own), len(own - said - around), each.entity_id)
                best = match if best is None else min(best, match)
        if best is not None:
            found.append((best, each))
    return sorted(found, key=lambda pair: pair[0])


def _is_several(text: str) -> bool:
    words = _WORD.findall(text.casefold())
    plural = any(word != _singular(word) for word in words)
    return plural or any(word in text.casefold().split() or (not word.isascii() and word in text) for word in _ALL)


def _singular(word: str) -> str:
    if len(word) > 3 and word.isascii() and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word

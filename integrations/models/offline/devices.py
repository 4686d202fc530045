"""Devices in the output of the tool `get_state`, and which one a person means. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from integrations.models.offline.recognizer import ENGLISH
from integrations.models.offline.steps import read_items

_LITTLE_WORDS = {"the", "a", "an", "my", "in", "of", "的", "里", "里的"}
_LOCKED = frozenset({"locked", "unlocked"})
_MEASURES = {
    "temperature": re.compile(r"\b(?:temperature|warm|cold|hot)\b|温度|热|冷|多少度", re.IGNORECASE),
    "battery": re.compile(r"\bbattery\b|电量|电池", re.IGNORECASE),
    "humidity": re.compile(r"\b(?:humid|humidity)\b|湿度", re.IGNORECASE),
}
_CHINESE_STATES = {
    "on": "开着",
    "off": "关着",
    "open": "打开",
    "opening": "正在打开",
    "closed": "关闭",
    "closing": "正在关闭",
    "locked": "已锁",
    "unlocked": "未锁",
    "home": "在家",
    "not_home": "外出",
    "playing": "播放中",
    "paused": "已暂停",
    "idle": "空闲",
    "standby": "待机",
    "active": "运行中",
    "cleaning": "清扫中",
    "docked": "在充电座",
    "heat": "制热",
    "cool": "制冷",
    "auto": "自动",
    "unavailable": "无法连接",
    "unknown": "未知",
    "above_horizon": "在地平线上",
    "below_horizon": "已落山",
    "sunny": "晴",
    "clear-night": "晴夜",
    "cloudy": "多云",
    "partlycloudy": "局部多云",
    "rainy": "有雨",
    "pouring": "大雨",
    "snowy": "有雪",
    "fog": "有雾",
    "windy": "有风",
    "lightning": "雷电",
    "lightning-rainy": "雷阵雨",
    "snowy-rainy": "雨夹雪",
    "hail": "冰雹",
    "windy-variant": "有风多云",
    "exceptional": "异常天气",
}
_SENSED = {
    **dict.fromkeys(("door", "garage_door", "window", "opening"), ("open", "closed")),
    **dict.fromkeys(("lock",), ("unlocked", "locked")),
}
"""By device class, what a sensor that is on or off has found."""
_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")


class Device(Struct, frozen=True):
    """One device: `domain.object_id`, its name, its state, the unit of the state, its area, its attributes.

    Attributes:
        coming: Its forecast or its events, where they were asked for and are told.
    """

    entity_id: str
    name: str
    state: str
    unit: str = ""
    area: str = ""
    attributes: dict[str, Any] = {}
    coming: list[dict[str, Any]] | None = None

    @property
    def domain(self) -> str:
        """The kind of device."""
        return self.entity_id.partition(".")[0]

    def state_text(self, language: str) -> str:
        """Return the state as people read it."""
        words = _SENSED.get(f"{self.attributes.get('device_class')}") if self.domain == "binary_sensor" else None
        known = words[self.state == "off"] if words is not None and self.state in ("on", "off") else self.state
        return f"{state_words(known, language)} {self.unit}".strip()

    def told(self, language: str) -> str:
        """Return its name and its state."""
        return f"{self.name}: {self.now(language)}" if language == ENGLISH else f"{self.name}：{self.now(language)}"

    def now(self, language: str) -> str:
        """Return its state, with what is measured or played beside it."""
        found = [self.state_text(language)]
        now = self.attributes
        if (measured := now.get("current_temperature")) is not None:
            found.append(f"{measured} °")
        elif self.domain == "weather" and now.get("temperature") is not None:
            found.append(f"{now['temperature']} {now.get('temperature_unit', '°')}")
        if isinstance(brightness := now.get("brightness"), int | float):
            found.append(f"{round(brightness / 2.55)} %")
        if (position := now.get("current_position")) is not None:
            found.append(f"{position} %")
        found += [f"{now[key]}" for key in ("media_title", "media_artist") if now.get(key)]
        return (", " if language == ENGLISH else "，").join(found)


def state_words(state: str, language: str) -> str:
    """Return a state in words of a language."""
    return state.replace("_", " ") if language == ENGLISH else _CHINESE_STATES.get(state, state)


def read_devices(output: str) -> list[Device]:
    """Return the devices in a tool's JSON output; nothing where there is none."""
    return [_device(each) for each in read_items(output, "states") if "entity_id" in each]


def search_for(name: str, sentence: str) -> str:
    """Return what to look for: the name, with the measure that the sentence asks for."""
    measure = measure_of(sentence)
    return name if not measure or measure in name else f"{name} {measure}"


def measure_of(text: str) -> str:
    """Return what a text asks to be measured, as a device class; empty for nothing."""
    return next((word for word, pattern in _MEASURES.items() if pattern.search(text)), "")


def find(devices: Sequence[Device], name: str, state: str = "") -> Device | None:
    """Return the device of a name: the one that all of its words fit, with the fewest others.

    Args:
        devices: The devices found, the best first.
        name: The name as it was said.
        state: The state that was asked about: only a lock is locked.
    """
    said = _words(name)
    if not said:
        return None
    if state in _LOCKED:
        devices = [device for device in devices if device.domain == "lock"]
    fitting = [
        (len(_words(device.name)), device.name, device)
        for device in devices
        if said <= _words(device.name) or said <= _words(device.entity_id.partition(".")[2])
    ]
    # A device that is meant by its area or its kind has not all words in its name.
    return min(fitting, key=lambda each: each[:2])[2] if fitting else next(iter(devices), None)


def _device(state: dict[str, Any]) -> Device:
    found = state.get("attributes")
    attributes = found if isinstance(found, dict) else {}
    return Device(
        str(state["entity_id"]),
        str(state.get("name") or state["entity_id"]),
        str(state.get("state", "")),
        str(attributes.get("unit_of_measurement") or ""),
        str(state.get("area") or ""),
        attributes,
        next((state[key] for key in ("forecast", "events") if isinstance(state.get(key), list)), None),
    )


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold().replace("_", " "))) - _LITTLE_WORDS

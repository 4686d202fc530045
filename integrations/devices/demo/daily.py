"""How the things of the demo home change during a day: pure functions of the local time, the same at every look."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from random import Random

WASHING_H = (13.0, 14.7)
WASHING_DAYS = 2

Daily = Callable[[datetime], float]


def hour(now: datetime) -> float:
    """Return the time of day in hours."""
    return now.hour + now.minute / 60 + now.second / 3600


def noise(name: str, now: datetime, minutes: int = 10) -> float:
    """Return a number from -1 to 1 that goes from one value to the next every few minutes."""
    place = now.timestamp() / (minutes * 60)
    before, share = math.floor(place), place % 1

    return _any(name, before) * (1 - share) + _any(name, before + 1) * share


@lru_cache(maxsize=256)
def _any(name: str, step: int) -> float:
    return Random(f"{name}{step}").uniform(-1, 1)  # noqa: S311  the same each time


def wave(name: str, middle: float, swing: float, peak_h: float, rough: float) -> Daily:
    """Return a value that swings once a day around a middle, highest at an hour, and never quite the same."""

    def value(now: datetime) -> float:
        turn = math.cos((hour(now) - peak_h) / 24 * 2 * math.pi)
        return middle + swing * turn + rough * noise(name, now) + rough * noise(f"{name} today", now, 24 * 60)

    return value


def is_home(person: str, now: datetime) -> bool:
    """Whether somebody is at home: on weekdays at work or school, on Saturdays for a walk together."""
    leaves, returns = {"ada": (8.4, 17.2), "ben": (7.8, 16.4), "mia": (7.6, 15.1)}[person]
    if now.weekday() == 5:
        leaves, returns = 14.0, 16.2
    if now.weekday() == 6:
        return True
    return not leaves <= hour(now) < returns


def is_moving(now: datetime) -> bool:
    """Whether somebody goes through the hall: now and then from morning to night, for six minutes."""
    if not 6.4 <= hour(now) < 23 or now.minute % 30 >= 6:
        return False
    return Random(f"hall{now:%Y%m%d%H}{now.minute // 30}").random() < 0.4  # noqa: S311


def is_washing(now: datetime) -> bool:
    """Whether the washer runs: every second day after lunch."""
    return now.toordinal() % WASHING_DAYS == 0 and WASHING_H[0] <= hour(now) < WASHING_H[1]


def washer_power(now: datetime) -> float:
    """Return the watts of the washer: it heats, turns, and spins in the end."""
    if not is_washing(now):
        return 2 + abs(noise("washer", now)) * 0.4
    done = (hour(now) - WASHING_H[0]) / (WASHING_H[1] - WASHING_H[0])
    heats = 1_900 if 0.1 < done < 0.35 else 160
    return heats + (420 if done > 0.85 else 0) + 40 * noise("washer", now, 2)


def house_power(now: datetime) -> float:
    """Return the watts of the house without the washer: most in the morning and the evening."""
    at = hour(now)
    peaks = 620 * math.exp(-((at - 7.5) ** 2) / 1.5) + 980 * math.exp(-((at - 19) ** 2) / 4)
    return 230 + peaks + 60 * noise("house", now) + washer_power(now)


def solar_power(now: datetime) -> float:
    """Return the watts of the roof: the sun of autumn, with clouds."""
    height = math.sin(max(0.0, min(1.0, (hour(now) - 7.6) / 9.2)) * math.pi)
    clouds = 0.75 + 0.25 * noise("clouds", now, 40)
    return max(0.0, 2_300 * height * clouds)


def brightness(now: datetime) -> float:
    """Return the lux in the hall."""
    return max(2.0, solar_power(now) / 9 + 3)

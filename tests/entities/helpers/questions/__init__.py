"""What a Home Assistant core and this hub are asked, as plain data for either.

A scene is a configuration, and what is done to it in turn.

After each step every entity of the scene is asked for its state and attributes. `ask-home-assistant`, run with a Python
that has `homeassistant`, puts the answers of a real core into `answers/`, and `test_answers.py` compares ours.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

SUBJECTS: dict[str, list[dict[str, Any]]] = {
    name: import_module(f"{__name__}.{name}").SCENES for _, name, _ in iter_modules(__path__) if name != "steps"
}
"""The scenes of each module here, by its name."""

"""Packages whose `__init__` waits until one of its names is asked for."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from hub.core.light_packages import LightPackage, import_used, load_package, make_light

INIT = """
import threading
__version__ = "4.2"
RUNS = [*globals().get("RUNS", ()), threading.current_thread()]
from light_sample.whole import NAME
from light_sample import whole
"""
WHOLE = "from light_sample import __version__\nNAME = 'whole ' + __version__\n"
ASKS_TOO_EARLY = "from light_sample import NAME\n"


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[ModuleType]:
    folder = tmp_path / "light_sample"
    folder.mkdir()
    for name, text in {"__init__": INIT, "whole": WHOLE, "part": "from . import __version__\nPART = 1\n"}.items():
        (folder / f"{name}.py").write_text(text)
    sys.path.insert(0, str(tmp_path))
    make_light("light_sample", "no_such_package", "json")
    yield sys.modules["light_sample"]
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "light_sample"]:
        del sys.modules[name]


def test_a_module_of_it_is_imported_without_the_rest(sample: ModuleType) -> None:
    part = import_module("light_sample.part")

    assert (part.PART, part.__version__) == (1, "4.2")
    assert isinstance(sample, LightPackage)
    assert "light_sample.whole" not in sys.modules
    assert sample.whole.NAME == "whole 4.2"
    assert isinstance(sample, LightPackage)


def test_a_name_of_its_own_imports_it_in_full_once_whoever_asks(sample: ModuleType) -> None:
    found: list[str] = []
    askers = [threading.Thread(target=lambda: found.append(sample.NAME)) for _ in range(8)]
    for each in askers:
        each.start()
    for each in askers:
        each.join()

    assert found == ["whole 4.2"] * 8
    assert len(sample.RUNS) == 1
    assert type(sample) is ModuleType
    with pytest.raises(AttributeError, match="nothing"):
        _ = sample.nothing


def test_a_name_that_it_does_not_have_yet_is_missing_and_the_next_try_begins_again(
    sample: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "light_sample" / "whole.py").write_text(ASKS_TOO_EARLY)
    with pytest.raises(ImportError, match="NAME"):
        _ = sample.NAME

    (tmp_path / "light_sample" / "whole.py").write_text(WHOLE + "# again\n")

    assert sample.NAME == "whole 4.2"


async def test_it_is_imported_in_a_thread_before_the_event_loop_uses_it(sample: ModuleType) -> None:
    await load_package("light_sample")

    assert type(sample) is ModuleType
    assert sample.RUNS[0] is not threading.current_thread()
    await load_package("light_sample")
    assert len(sample.RUNS) == 1


def test_those_that_the_modules_of_an_integration_name_are_imported_with_it(sample: ModuleType) -> None:
    import_module("light_sample.part")
    import_used("light_sample.part")
    assert isinstance(sample, LightPackage)

    sys.modules["light_sample.part"].__dict__["light_sample"] = sample
    import_used("light_sample.part")

    assert type(sample) is ModuleType

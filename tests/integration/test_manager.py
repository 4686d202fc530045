"""How integrations come up, fail, are tried again, reload and go."""

from __future__ import annotations

import asyncio
import logging

import pytest

from hub.core.errors import NotFound, Unavailable
from hub.integration.time_limit import SLOW_AFTER_S
from tests.integration.conftest import PLAIN, Kit
from tests.until import until

RAISES = """
async def setup(host, config):
    raise ValueError("the lamp is broken")

async def unload(host):
    pass
"""
NOT_READY = """
from hub.integration.errors import NotReady

async def setup(host, config):
    host.log.append(("try", "{domain}"))
    if not host.ready.get("{domain}"):
        raise NotReady("the broker does not answer")
    host.log.append(("setup", "{domain}", config))

async def unload(host):
    host.log.append(("unload", "{domain}"))
"""
GATED = """
import asyncio

async def setup(host, config):
    host.log.append(("begin", "{domain}"))
    await host.gates.setdefault("gate", asyncio.Event()).wait()
    host.log.append(("setup", "{domain}", config))

async def unload(host):
    host.log.append(("unload", "{domain}"))
"""
SCHEMA = """
from hub.core.schema import Optional, Required, Schema, integer, string

CONFIG_SCHEMA = Schema({Required("host"): string, Optional("port", default=80): integer})
"""


async def test_a_configured_integration_is_set_up_with_its_validated_section(kit: Kit) -> None:
    kit.add("lamp", schema=SCHEMA)

    await kit.start("lamp: {host: x}\n")

    assert kit.states() == {"lamp": "set_up"}
    assert kit.hub.log == [("setup", "lamp", {"host": "x", "port": 80})]
    assert [(event.data["domain"], event.data["state"]) for event in kit.events] == [("lamp", "set_up")]


async def test_what_is_neither_configured_nor_needed_nor_a_default_stays_away(kit: Kit) -> None:
    kit.add("lamp")
    kit.add("needed")
    kit.add("usual", default=True)

    await kit.start("", needed={"needed"})

    assert kit.states() == {"needed": "set_up", "usual": "set_up"}


async def test_a_default_can_be_disabled(kit: Kit) -> None:
    kit.add("usual", default=True)

    await kit.start("hub: {disabled: usual}\n")

    assert kit.states() == {"usual": "disabled"}
    assert kit.hub.log == []


async def test_a_typo_among_the_disabled_is_told(kit: Kit) -> None:
    kit.add("usual", default=True)

    await kit.start("hub: {disabled: usaul}\n")

    assert kit.states() == {"usual": "set_up"}
    assert [repair.id for repair in kit.repairs.all()] == ["hub.disabled"]


async def test_dependencies_come_first_and_are_brought_along(kit: Kit) -> None:
    kit.add("top", dependencies=["middle"])
    kit.add("middle", dependencies=["bottom"], after_dependencies=["other"])
    kit.add("bottom")
    kit.add("other")

    await kit.start("top: {}\nother: {}\n")
    order = kit.done("setup")
    await kit.manager.stop()

    assert order.index("bottom") < order.index("middle") < order.index("top")
    assert order.index("other") < order.index("middle")
    assert kit.done("unload")[0] == "top"
    assert set(kit.states().values()) == {"unloaded"}


async def test_those_that_do_not_depend_on_each_other_are_set_up_in_parallel(kit: Kit) -> None:
    for name in ("one", "two", "three"):
        kit.add(name, GATED)
    start = asyncio.create_task(kit.start("one: {}\ntwo: {}\nthree: {}\n"))

    await until(lambda: len(kit.done("begin")) == 3)
    kit.hub.gates["gate"].set()
    await start

    assert set(kit.states().values()) == {"set_up"}


async def test_a_failure_stops_no_other_and_is_a_repair_with_its_place(kit: Kit) -> None:
    kit.add("bad", RAISES)
    kit.add("good")

    await kit.start("good: {}\nbad: {}\n")

    assert kit.states() == {"bad": "failed", "good": "set_up"}
    repair = kit.repairs.all()[0]
    assert (repair.source, repair.id, repair.title) == ("integration", "bad", "Bad could not be set up")
    assert "the lamp is broken" in repair.text
    assert repair.location == {"file": "configuration.yaml", "line": 2, "column": 6, "path": "bad"}


async def test_what_needs_a_failed_one_fails_and_names_it(kit: Kit) -> None:
    kit.add("bad", RAISES)
    kit.add("child", dependencies=["bad"])
    kit.add("orphan", dependencies=["nothing"])

    await kit.start("child: {}\norphan: {}\n")

    assert kit.states() == {"bad": "failed", "child": "failed", "orphan": "failed"}
    assert "it needs bad, which is failed" in kit.reason("child")
    assert kit.reason("orphan") == "it needs nothing, which does not exist"


async def test_a_circle_of_dependencies_is_named(kit: Kit) -> None:
    kit.add("one", dependencies=["two"])
    kit.add("two", dependencies=["one"])
    kit.add("three")

    await kit.start("one: {}\nthree: {}\n")

    assert kit.states() == {"one": "failed", "two": "failed", "three": "set_up"}
    assert "one, two" in kit.reason("one")


async def test_what_is_not_ready_is_tried_again_with_growing_pauses(kit: Kit) -> None:
    kit.add("mqtt", NOT_READY)
    await kit.start("mqtt: {}\n")
    assert kit.states() == {"mqtt": "retrying"}
    assert kit.reason("mqtt") == "the broker does not answer"

    tries = []
    for _ in range(4):
        await kit.clock.advance(5)
        tries.append(len(kit.done("try")))
    kit.hub.ready["mqtt"] = True
    await kit.clock.advance(300)

    assert tries == [2, 2, 3, 3]
    assert kit.states() == {"mqtt": "set_up"}
    assert kit.repairs.all() == []


async def test_what_depends_on_it_waits_and_follows_at_once(kit: Kit) -> None:
    kit.add("mqtt", NOT_READY)
    kit.add("child", dependencies=["mqtt"])
    await kit.start("child: {}\n")
    assert kit.states() == {"mqtt": "retrying", "child": "retrying"}
    assert kit.reason("child") == "it waits for mqtt"

    kit.hub.ready["mqtt"] = True
    await kit.manager.reload("mqtt")
    await kit.clock.advance(0)

    assert kit.states() == {"mqtt": "set_up", "child": "set_up"}


async def test_one_that_hangs_is_stopped_and_named(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.add("slow", GATED)
    kit.add("quick")
    start = asyncio.create_task(kit.start("slow: {}\nquick: {}\n"))
    await until(lambda: kit.done("begin"))

    with caplog.at_level(logging.WARNING):
        await kit.clock.advance(SLOW_AFTER_S)
        told = "setting up slow is slow" in caplog.text
        await kit.clock.advance(60)
    await start

    assert told
    assert kit.states() == {"slow": "failed", "quick": "set_up"}
    assert kit.reason("slow") == "setting up slow took longer than 60 s and was stopped"


async def test_a_missing_package_is_named_with_the_command(kit: Kit) -> None:
    kit.add("extra", requirements=["surely-not-installed>=1"], extra="extra")
    kit.add("own", requirements=["surely-not-installed>=1"])
    kit.add("late", "import surely_not_installed\n" + PLAIN)

    await kit.start("extra: {}\nown: {}\nlate: {}\n")

    commands = {repair.id: repair.command for repair in kit.repairs.all()}
    assert commands == {
        "extra": "script/setup --add extra",
        "own": "uv pip install 'surely-not-installed>=1'",
        "late": "uv pip install 'surely_not_installed'",
    }
    assert "surely-not-installed>=1, which is not installed" in kit.reason("extra")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit(3)\n", "SystemExit"),
        ("def broken(:\n", "SyntaxError"),
        ("async def setup(host, config):\n    pass\n\n\ndef unload(host):\n    pass\n", "must be an `async def`"),
        ("def setup(host, config):\n    pass\nasync def unload(host):\n    pass\n", "async def setup"),
        ("from hub.core.nothing import x\n", "hub.core.nothing"),
    ],
)
async def test_code_that_cannot_be_imported_is_a_failure(kit: Kit, code: str, reason: str) -> None:
    kit.add("bad", code)
    kit.add("good")

    await kit.start("bad: {}\ngood: {}\n")

    assert kit.states() == {"bad": "failed", "good": "set_up"}
    assert reason in kit.reason("bad")


async def test_a_broken_section_leaves_its_integration_out(kit: Kit) -> None:
    kit.add("lamp", schema=SCHEMA)
    kit.add("other")

    await kit.start("other: {}\nlamp:\n  hosst: x\n")

    assert kit.states() == {"lamp": "failed", "other": "set_up"}
    assert "configuration.yaml:3:3: lamp.hosst" in kit.reason("lamp")
    assert kit.done("setup") == ["other"]


async def test_a_broken_manifest_or_schema_is_a_failure_with_its_reason(kit: Kit) -> None:
    kit.add("bad", text="{")
    kit.add("odd", schema="CONFIG_SCHEMA = nothing\n")

    checked = await kit.start("bad: {}\nodd: {}\n")

    assert [error.path for error in checked.errors] == ["bad", "odd"]
    assert "manifest.json line 1" in checked.errors[0].message
    assert "schema.py line 1: NameError" in checked.errors[1].message
    assert kit.states() == {"bad": "failed", "odd": "failed"}


async def test_only_what_changed_is_set_up_again(kit: Kit) -> None:
    kit.add("lamp", schema=SCHEMA)
    kit.add("other")
    kit.add("gone")
    kit.add("new")
    await kit.start("lamp: {host: x}\nother: {}\ngone: {}\n")
    kit.hub.log.clear()

    changed = kit.check("lamp: {host: y}\nother: {}\nnew: {}\n")
    await kit.manager.apply({"lamp", "gone", "new"}, changed.config)

    assert sorted(kit.hub.log, key=str) == [
        ("setup", "lamp", {"host": "y", "port": 80}),
        ("setup", "new", {}),
        ("unload", "gone"),
        ("unload", "lamp"),
    ]
    assert kit.states() == {"lamp": "set_up", "new": "set_up", "other": "set_up"}


async def test_what_depends_on_a_reloaded_one_is_set_up_again_after_it(kit: Kit) -> None:
    kit.add("base")
    kit.add("child", dependencies=["base"])
    await kit.start("base: {}\nchild: {}\n")
    kit.hub.log.clear()

    await kit.manager.reload("base")

    assert [entry[:2] for entry in kit.hub.log] == [
        ("unload", "child"),
        ("unload", "base"),
        ("setup", "base"),
        ("setup", "child"),
    ]


async def test_a_failed_one_that_was_mended_is_read_again(kit: Kit) -> None:
    kit.add("bad", "def broken(:\n")
    await kit.start("bad: {}\n")

    kit.add("bad", PLAIN)
    await kit.manager.reload("bad")

    assert kit.states() == {"bad": "set_up"}
    assert kit.repairs.all() == []


async def test_one_that_fails_to_unload_is_told_and_keeps_no_other(kit: Kit) -> None:
    kit.add("bad", PLAIN.replace('host.log.append(("unload", "{domain}"))', 'raise OSError("stuck")'))
    kit.add("good")
    await kit.start("bad: {}\ngood: {}\n")

    await kit.manager.stop()

    assert set(kit.states().values()) == {"unloaded"}
    assert kit.done("unload") == ["good"]
    assert [repair.id for repair in kit.repairs.all()] == ["bad.unload"]


async def test_nothing_is_tried_again_after_the_stop(kit: Kit) -> None:
    kit.add("mqtt", NOT_READY)
    await kit.start("mqtt: {}\n")

    await kit.manager.stop()
    await kit.clock.advance(1000)

    assert kit.done("try") == ["mqtt"]
    assert kit.tasks.names() == []


async def test_reloading_what_is_not_in_use_is_refused(kit: Kit) -> None:
    with pytest.raises(NotFound, match="nothing"):
        await kit.manager.reload("nothing")


REGISTERS = """
from hub.integration.errors import NotReady

async def setup(host, config):
    kept = host.registrations["{domain}"]
    async def close_socket():
        host.log.append(("undone", "socket"))
    kept.keep(close_socket)
    early = kept.keep(lambda: host.log.append(("undone", "early")))
    kept.keep(lambda: 1 / 0)
    kept.keep(lambda: host.log.append(("undone", "tool")))
    early()
    if not host.ready.get("{domain}"):
        raise NotReady("the broker does not answer")
"""


async def test_what_was_registered_before_a_set_up_was_not_ready_is_undone_before_the_retry(kit: Kit) -> None:
    kit.add("mqtt", REGISTERS)

    await kit.start("mqtt: {}\n")

    assert kit.states() == {"mqtt": "retrying"}
    assert kit.done("undone") == ["early", "tool", "socket"]


async def test_what_was_registered_is_undone_once_in_reverse_when_it_is_unloaded(kit: Kit) -> None:
    kit.add("mqtt", REGISTERS)
    kit.hub.ready["mqtt"] = True
    await kit.start("mqtt: {}\n")
    before = kit.done("undone")

    await kit.manager.stop()

    assert before == ["early"]
    assert kit.done("undone") == ["early", "tool", "socket"]


async def test_nothing_can_be_registered_after_the_unload(kit: Kit) -> None:
    kit.add("mqtt", REGISTERS)
    kit.hub.ready["mqtt"] = True
    await kit.start("mqtt: {}\n")
    await kit.manager.stop()

    with pytest.raises(Unavailable, match="mqtt was unloaded"):
        kit.hub.registrations["mqtt"].keep(lambda: kit.hub.log.append(("undone", "late")))

    assert kit.done("undone")[-1] == "late"


async def test_a_reload_runs_the_code_that_is_in_the_files_now(kit: Kit) -> None:
    kit.add("lamp")
    await kit.start("lamp: {}\n")

    kit.add("lamp", PLAIN.replace('"setup", ', '"setup again", '))
    await kit.manager.reload("lamp")

    assert [entry[0] for entry in kit.hub.log] == ["setup", "unload", "setup again"]

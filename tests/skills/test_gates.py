"""Trust, precedence and gates: whatever is found, at most one of a name is used, and only what may be."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from hypothesis import given, strategies as st

from hub.core.secret import Secret
from hub.skills.gates import GateFacts, SkillEntry, has_setting, missing, variables
from hub.skills.pins import SkillPin
from hub.skills.skill import TRUSTED, FoundSkill, SkillSource, SkillState, filter_allowed, judge
from hub.skills.skill_file import Requirements, SkillFile, read_skill

ORDER = list(SkillSource)
ATOMS = ["a", "b", "c"]


@st.composite
def requirements(draw: st.DrawFn) -> Requirements:
    some = st.lists(st.sampled_from(ATOMS), max_size=2, unique=True).map(tuple)
    return Requirements(
        draw(some), draw(some), draw(some), draw(some), draw(st.sampled_from([(), ("linux",), ("win32",)]))
    )


@st.composite
def found(draw: st.DrawFn) -> FoundSkill:
    source = draw(st.sampled_from(ORDER))
    name = draw(st.sampled_from(["one", "two"]))
    file = SkillFile(name, "d", name, always=draw(st.booleans()), requires=draw(requirements()))
    digest = draw(st.sampled_from(["x", "y"]))
    pin = SkillPin(draw(st.sampled_from([None, True, False])), draw(st.sampled_from([None, "x"])))
    return FoundSkill(f"{source}/{name}", source, Path("/"), file, digest=digest, pin=pin)


def facts(there: frozenset[str]) -> GateFacts:
    return GateFacts("linux", there.__contains__, there.__contains__, there.__contains__)


@given(st.lists(found(), max_size=8), st.frozensets(st.sampled_from(ATOMS)), st.booleans())
def test_of_each_name_the_first_that_is_trusted_counts_and_is_ready_only_when_nothing_lacks(
    skills: list[FoundSkill], there: frozenset[str], switched_off: bool
) -> None:
    skills.sort(key=lambda skill: ORDER.index(skill.source))
    entries = {"one": SkillEntry(enabled=not switched_off)}

    judged = judge(skills, lambda file: entries.get(file.name, SkillEntry()), facts(there))

    assert [each.skill for each in judged] == skills
    for name in ("one", "two"):
        mine = [each for each in judged if each.skill.name == name]
        usable = [
            skill
            for skill in (each.skill for each in mine)
            if not (name == "one" and switched_off)
            and skill.pin.enabled is not False
            and (
                skill.source in TRUSTED
                or (skill.source is not SkillSource.PROPOSED and skill.pin.enabled and skill.pin.digest == skill.digest)
            )
        ]
        ready = [each.skill for each in mine if each.ready]
        assert ready in ([], usable[:1])
        if usable:
            file = usable[0].file
            assert file is not None
            assert bool(ready) is (missing(file, SkillEntry(), facts(there)) is None)
    assert all(each.reason for each in judged if not each.ready)


@given(requirements(), st.frozensets(st.sampled_from(ATOMS)), st.booleans())
def test_what_is_there_more_never_closes_a_gate(needs: Requirements, there: frozenset[str], always: bool) -> None:
    file = SkillFile("x", "d", "x", always=always, requires=needs)

    less, more = missing(file, SkillEntry(), facts(there)), missing(file, SkillEntry(), facts(frozenset(ATOMS)))

    assert less is not None or more is None
    assert (more is None) is (needs.os != ("win32",))


@given(st.lists(st.sampled_from(["one", "two"]), max_size=2), st.lists(st.sampled_from(["one", "two"]), max_size=2))
def test_lists_of_names_only_ever_narrow(agent: list[str], group: list[str]) -> None:
    skills = [
        FoundSkill(f"bundled/{name}", SkillSource.BUNDLED, Path("/"), SkillFile(name, "d", name))
        for name in ("one", "two")
    ]
    judged = judge(skills, lambda _: SkillEntry(), facts(frozenset()))

    for one, other in product((None, agent), (None, group)):
        expected = {"one", "two"}.intersection(*(names for names in (one, other) if names is not None))
        assert {each.skill.name for each in filter_allowed(judged, one, other)} == expected


def test_a_key_of_the_configuration_opens_the_gate_of_its_variable() -> None:
    text = '---\nname: k\ndescription: d\nmetadata: {"openclaw":{"primaryEnv":"K","requires":{"env":["K"]}}}\n---\n'
    file, nothing = read_skill(text, "k"), facts(frozenset())

    assert missing(file, SkillEntry(), nothing) == Requirements(env=("K",))
    assert missing(file, SkillEntry(api_key=Secret("s")), nothing) is None
    assert missing(file, SkillEntry(env={"K": Secret("s")}), nothing) is None
    assert variables(file, SkillEntry(api_key=Secret("a"), env={"K": Secret("b")})) == {"K": Secret("b")}


def test_an_agent_proposes_nothing_into_use() -> None:
    skill = FoundSkill(
        "proposed/x", SkillSource.PROPOSED, Path("/"), SkillFile("x", "d", "x"), digest="d", pin=SkillPin(True, "d")
    )

    (judged,) = judge([skill], lambda _: SkillEntry(), facts(frozenset()))

    assert judged.state is SkillState.NOT_ENABLED


def test_settings_are_found_by_their_dotted_key() -> None:
    config = {"mqtt": {"broker": "embedded", "port": 0}, "telegram": [{"token": Secret("t")}]}

    assert has_setting(config, "mqtt.broker")
    assert has_setting(config, "telegram.token")
    assert not has_setting(config, "mqtt.port")
    assert not has_setting(config, "mqtt.broker.deeper")
    assert not has_setting(config, "nothing")

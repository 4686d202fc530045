"""What we take from the private insides of libraries is as we know it, and stands on the page of the architecture.

When one of these tests fails, a library has changed: look at the class that the page names, then at this file.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"hub", "integrations", "node", "web"}
MODULES = {
    "hub.core.schema_bounds": "voluptuous",
    "hub.gateway.access.guard": "aiohttp",
    "hub.gateway.access.guarded_socket": "aiohttp",
    "hub.template.environment": "jinja2",
    "integrations.devices.mqtt.broker": "amqtt",
    "integrations.memory.whoosh.fields": "whoosh",
    "integrations.memory.whoosh.scoring": "whoosh",
    "integrations.memory.whoosh.writer": "whoosh",
}
"""Modules whose classes stand on those of a library."""
INSIDES: dict[str, dict[str, str | None]] = {
    "voluptuous.schema_builder.Schema": {
        "_compile": "schema",
        "_compile_dict": "schema",
        "_compile_sequence": "schema, seq_type",
        "_compiled": None,
    },
    "voluptuous.schema_builder.Marker": {"_schema": None},
    "voluptuous.schema_builder.Required": {"_extract_candidate_keys": "schema"},
    "voluptuous.validators.Any": {"_exec": "funcs, v, path"},
    "jinja2.runtime.Undefined": {"_fail_with_undefined_error": "args, kwargs"},
    "amqtt.adapters.StreamWriterAdapter": {"_writer": None},
    "amqtt.broker.Broker": {
        "_authenticate": "session, _",
        "_broadcast_message": "session, topic, data, force_qos",
        "_delete_session": "client_id",
        "_get_handler": "session",
        "_initialize_client_session": "reader, writer, remote_address, remote_port",
        "_matches": "topic, a_filter",
        "_publish_retained_messages_for_subscription": "subscription, session",
        "_retain_broadcast_message": "broadcast, qos, target_session",
        "_retained_messages": None,
        "_sessions": None,
        "_subscriptions": None,
        "_topic_filtering": "session, topic, action",
    },
    "whoosh.writing.SegmentWriter": {"_flush_segment": ""},
    "aiohttp.web_server.Server": {"_loop": None},
    "aiohttp.base_protocol.BaseProtocol": {
        "_buffer_paused": None,
        "_loop": None,
        "_pause_transport_reading": "",
        "_reading_paused": None,
        "_resume_transport_reading": "",
        "_upgraded": None,
    },
}
"""By class, each private name with its parameters; None for an attribute."""
CALLED = {
    "voluptuous.schema_builder": ("self._compile(", "self._compile_dict(", "self._compile_sequence("),
    "voluptuous.validators": ("self._exec(self._compiled, value, path)",),
    "amqtt.broker": (
        *("await self._initialize_client_session(", "self._authenticate(", "self._topic_filtering("),
        *("self._publish_retained_messages_for_subscription(", "self._broadcast_message("),
        *("self._retain_broadcast_message(", "self.retain_message("),
    ),
    "whoosh.writing": ("self._flush_segment()",),
}
"""What a library calls of ours, as it is in its source: what nobody calls guards nothing."""


def library_class(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(pytest.importorskip(module), last)


@pytest.mark.parametrize(("name", "inside"), [(name, each) for name, some in INSIDES.items() for each in some])
def test_the_inside_of_a_library_is_as_we_know_it(name: str, inside: str) -> None:
    library, parameters = library_class(name), INSIDES[name][inside]
    changed = f"{name}.{inside} is not as we know it; docs/architecture.md says what leans on it"

    if parameters is None:
        kept = rf"\bself\.{inside}\b.*=|^    {inside}\b|def {inside}\(|[\"']{inside}[\"']"
        assert re.search(kept, inspect.getsource(library), re.MULTILINE), changed
    else:
        found = getattr(library, inside, None)
        assert found is not None, changed
        assert ", ".join(list(inspect.signature(found).parameters)[1:]) == parameters, changed


@pytest.mark.parametrize(("module", "call"), [(module, each) for module, some in CALLED.items() for each in some])
def test_a_library_calls_what_we_put_in_its_place(module: str, call: str) -> None:
    source = inspect.getsource(pytest.importorskip(module))

    assert call in source, f"{module} calls {call}…) no more; docs/architecture.md says what leans on it"


def test_templates_are_compiled_to_what_we_read() -> None:
    from jinja2 import nodes
    from jinja2.compiler import generate
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Counting(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"+"})
        seen: tuple[Any, ...] = ()

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            self.seen = (operator, left, right)
            return self.binop_table[operator](left, right)

    environment = Counting()
    tree = environment.parse("a\n{{ 1 + x }}")
    assert isinstance(tree, nodes.Template)
    code = generate(tree, environment, None, None)
    namespace: dict[str, Any] = {"environment": environment}
    exec(compile(str(code), "<template>", "exec"), namespace)  # jinja's own

    assert "".join(namespace["root"](environment.from_string("").new_context({"x": 2}))) == "a\n3"
    assert environment.seen == ("+", 1, 2)
    assert re.fullmatch(r"\d+=\d+(&\d+=\d+)*", namespace["debug_info"])


def used(module: str, library: str) -> Iterator[tuple[str, str]]:
    """Yield each private name of a library's class that a class of ours defines or names."""
    loaded = pytest.importorskip(module)
    for ours in [each for each in vars(loaded).values() if inspect.isclass(each) and each.__module__ == module]:
        tree = ast.parse(textwrap.dedent(inspect.getsource(ours)))
        names = {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}
        names |= {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
        for base in ours.__mro__[1:]:
            if base.__module__.partition(".")[0] == library:
                known = {*vars(base), *re.findall(r"self\.(_\w+)\b[^=\n]*=", inspect.getsource(base))}
                for name in names & known:
                    if name.startswith("_") and not name.startswith("__"):
                        yield f"{base.__module__}.{base.__name__}", name


@pytest.mark.parametrize("module", MODULES)
def test_each_inside_that_we_take_is_listed(module: str) -> None:
    listed = {name for some in INSIDES.values() for name in some}

    assert {name for _, name in used(module, MODULES[module])} - listed == set()


def test_no_other_class_stands_on_a_class_of_these_libraries_from_inside() -> None:
    libraries, others = set(MODULES.values()) - {"aiohttp"}, []
    for top in sorted(OURS):
        for path in sorted((ROOT / top).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if not any(re.search(rf"^\s*(?:from|import) {each}\b", source, re.MULTILINE) for each in libraries):
                continue
            module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
            loaded = importlib.import_module(module)
            bases = {
                base.__module__.partition(".")[0]
                for each in vars(loaded).values()
                if inspect.isclass(each) and each.__module__ == module
                for base in each.__mro__[1:]
            }
            for library in bases & libraries:
                if module not in MODULES and any(used(module, library)):
                    others.append(module)

    assert others == []


def test_nothing_leans_on_the_insides_of_re() -> None:
    inside = re.compile(r"\bre\._|\bsre_")
    sources = [path for top in sorted(OURS) for path in sorted((ROOT / top).rglob("*.py"))]

    assert [path.as_posix() for path in sources if inside.search(path.read_text(encoding="utf-8"))] == []


def test_the_page_names_each_of_them() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

    missing = [f"{name}.{each}" for name, some in INSIDES.items() for each in some if f"`{each}`" not in page]
    missing += [name for name in INSIDES if f"`{name}`" not in page]

    assert missing == []

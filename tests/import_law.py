"""The law of the house, as a function over a tree of source files: imports run downward only, and never in a circle.

It reads the files and imports nothing of them, so it can be pointed at a small bad tree as well as at ours.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]

# From the ground up; a part may import those before it. In the roof, `web` stands on the hub and bootstrap starts it.
PARTS = (
    *("core", "security", "storage", "config", "template", "integration", "models", "tools", "memory", "entities"),
    *(
        "nodes",
        "sessions",
        "sandbox",
        "skills",
        "extensions",
        "hooks",
        "agent",
        "messaging",
        "automation",
        "voice",
        "timeline",
        "gateway",
        "backup",
        "update",
        "daemon",
        "migrate",
    ),
    *("doctor", "cluster"),
)
ROOF = (
    "sections",
    "foundation",
    "lifecycle",
    "host",
    "hub",
    "web",
    "bootstrap",
    "worker",
    "cli",
    "testing",
    "__main__",
)
ORDER = {part: rank for rank, part in enumerate((*PARTS, *ROOF))}
# What a part shows of itself, a module or a folder in it, and what of the roof each may stand on. They import the
# domain of any part; no domain imports them.
SURFACES: dict[str, tuple[str, ...]] = {
    "component": ("sections", "foundation"),
    "methods": (),
    "commands": (),
    "cli": ("sections", "cli", "bootstrap", "worker"),
    "doctor": (),
    "trigger": (),
}
# Folders of that name that are domain: what nodes are asked, and the registry of slash commands.
DOMAIN = {"hub.nodes.commands", "hub.messaging.commands"}
FOLDERS = ("hub", "integrations", "node", "web")

# What hub/ may import of others at start, and where; the rest is imported inside the function that uses it.
# The modules of `template` that know jinja2 are themselves imported by the first rendering.
LIGHT = {
    "aiohttp": ("models", "gateway", "methods", "cluster", "worker"),
    "click": ("cli",),
    "cryptography": ("backup",),  # in the modules of the process that works on archives
    "jinja2": ("template",),
    "msgspec": None,
    "orjson": None,
    "psycopg": ("storage", "cluster"),  # in modules that `storage: postgresql:` alone imports
    "ruamel": ("config",),
    "textual": ("cli",),  # in a module that `homarus tui` alone imports
}
# What a command that only reads the configuration may load.
SCHEMA_LIGHT = {"msgspec", "orjson", "ruamel", "voluptuous"}
# The node program is a distribution of its own below everything: it imports nothing of ours, and these two packages.
NODE_NEEDS = {"aiohttp", "cryptography"}
ON_DEMAND = "hub.storage.postgresql"
WITH_IT = (ON_DEMAND, "hub.cluster", "hub.worker")
"""What only those import who have the database."""
# Packages of an extra: only its integration knows them, since they may not be installed.
EXTRAS = {
    **dict.fromkeys(("apprise", "chromadb", "docker", "icalendar", "litellm", "markdownify", "mcp"), ("integrations",)),
    **dict.fromkeys(("playwright", "readability", "recurring_ical_events", "whoosh"), ("integrations",)),
    **dict.fromkeys(("aiomqtt", "amqtt", "paho"), ("integrations",)),
    **dict.fromkeys(("nacl", "py_vapid", "pywebpush", "slixmpp", "telegram"), ("integrations",)),
    **dict.fromkeys(("opentelemetry",), ("integrations",)),
    "psycopg": (ON_DEMAND, "hub.cluster"),
    "textual": ("hub.messaging.cli.tui_app",),
    "zeroconf": ("integrations",),
}
BY_CALL = re.compile(r"\b(import_module|__import__)\b")
Within = Callable[[ast.AST], Iterable[ast.AST]]


@dataclass(frozen=True, slots=True)
class Import:
    """One name imported by one module. `at_start` says that importing the module executes it."""

    target: str
    line: int
    at_start: bool
    for_types: bool


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: its dotted name, its path relative to the tree, and all that it imports."""

    name: str
    file: str
    is_package: bool
    imports: tuple[Import, ...]


def violations(modules: Mapping[str, Module]) -> list[str]:
    """All breaches of the law in a tree, each as `file:line: what is wrong`, in order of file and line."""
    found = [
        f"{module.file}:{item.line}: {complaint}"
        for module in modules.values()
        for item in module.imports
        for complaint in (_direction(module, item, modules), _weight(module, item))
        if complaint
    ]
    return [*found, *_strangers(modules), *_heavy_schemas(modules), *_cycles(modules)]


@cache
def our_tree() -> dict[str, Module]:
    """What `read_tree` reads in this checkout."""
    return read_tree(CHECKOUT)


def read_tree(root: Path) -> dict[str, Module]:
    """Every Python file under the folders of the house at `root`, by dotted name."""
    paths = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    names = {_dotted(path.relative_to(root)): path for path in paths}
    modules = {}
    for name, path in names.items():
        is_package = path.name == "__init__.py"
        package = name if is_package else name.rpartition(".")[0]
        source = path.read_text(encoding="utf-8")
        within = ast.iter_child_nodes if BY_CALL.search(source) else _statements
        body = ast.parse(source, filename=str(path)).body
        imports = tuple(_imports(body, package, names.keys(), within, at_start=True, for_types=False))
        modules[name] = Module(name, path.relative_to(root).as_posix(), is_package, imports)
    return modules


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements within a statement, without its expressions: only a call in one of those imports anything."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        yield from getattr(node, field, ())


def _imports(
    nodes: Iterable[ast.AST], package: str, known: Iterable[str], within: Within, *, at_start: bool, for_types: bool
) -> Iterator[Import]:
    for node in nodes:
        for target in _targets(node, package, known):
            yield Import(target, getattr(node, "lineno", 0), at_start and not for_types, for_types)
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            yield from _imports(node.body, package, known, within, at_start=at_start, for_types=True)
            yield from _imports(node.orelse, package, known, within, at_start=at_start, for_types=for_types)
            continue
        deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        inner = within(node)
        yield from _imports(inner, package, known, within, at_start=at_start and not deferred, for_types=for_types)


def _targets(node: ast.AST, package: str, known: Iterable[str]) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            base = _absolute(module or "", package, level)
            inner = [f"{base}.{alias.name}" for alias in names]
            parts = {f"hub.{part}" for part in ORDER}
            return list(dict.fromkeys(name if name in known or name in parts else base for name in inner))
        case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")):
            first = node.args[0] if node.args else None
            return [first.value] if isinstance(first, ast.Constant) and isinstance(first.value, str) else []
    return []


def _absolute(module: str, package: str, level: int) -> str:
    if not level:
        return module
    base = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*base, module] if module else base)


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _part(name: str) -> str:
    """The part of the house that a dotted name belongs to; empty for the bare `hub`, which holds only its version."""
    top, _, rest = name.partition(".")
    return rest.partition(".")[0] if top == "hub" else top


def _surface(name: str) -> str | None:
    """Which surface of a part of the hub a module is, or lies in."""
    steps = name.split(".")
    if steps[0] != "hub" or len(steps) < 3 or steps[1] not in PARTS or ".".join(steps[:3]) in DOMAIN:
        return None
    return steps[2] if steps[2] in SURFACES else None


def _direction(module: Module, item: Import, modules: Mapping[str, Module]) -> str | None:
    here, there = _part(module.name), _part(item.target)
    top = item.target.partition(".")[0]
    if top == "tests":
        return "the program imports nothing of its tests"
    if top not in FOLDERS or not there:
        return None
    if here == "integrations":
        return _from_integration(module, item, modules)
    if there == "integrations":
        return f"{here} imports {item.target}: integrations are found through their manifests, never imported"
    surface, shown = _surface(module.name), _surface(item.target)
    if shown and not surface and here in PARTS:
        return f"{here} imports {item.target}, a surface: what both need belongs to the domain"
    if surface and (there in PARTS or there in SURFACES[surface]):
        return None
    if ORDER.get(here, -1) < ORDER.get(there, -1):
        return f"{here or 'hub'} imports {item.target}, which stands above it: fire an event or take it as an argument"
    return None


def _from_integration(module: Module, item: Import, modules: Mapping[str, Module]) -> str | None:
    there = _part(item.target)
    if there == "integrations":
        own, other = (name.split(".")[1:3] for name in (module.name, item.target))
        # A module beside the folders of its kind is shared by them.
        target = modules.get(item.target)
        beside = own[:1] == other[:1] and item.target.count(".") == 2
        is_shared = beside and target is not None and not target.is_package
        allowed = own == other or is_shared
        return None if allowed else f"{'/'.join(own)} imports {item.target}, a part of another integration"
    # Its commands are imported by the command line alone.
    roof = {"host", "cli"} if module.name.endswith(".cli") else {"host"}
    if there in ROOF and there not in roof:
        return f"an integration imports {item.target}: of the roof it may know hub.host alone"
    return None


def _weight(module: Module, item: Import) -> str | None:
    top = item.target.partition(".")[0]
    if item.at_start and item.target.startswith(ON_DEMAND) and not module.name.startswith(WITH_IT):
        return f"{item.target} is for `storage: postgresql:` alone: import it inside the function that uses it"
    if module.name.partition(".")[0] == "node" and top not in {"node", *NODE_NEEDS, *sys.stdlib_module_names}:
        return f"the node program imports {top}; it needs {' and '.join(sorted(NODE_NEEDS))} alone"
    if top == "voluptuous" and not module.name.startswith("hub.core.schema"):
        return "voluptuous is imported through hub.core.schema alone"
    if top in EXTRAS and not module.name.startswith(EXTRAS[top]):
        return f"{top} belongs to an extra and may be missing: only its integration imports it"
    if top in sys.stdlib_module_names or top in {*FOLDERS, "tests", "voluptuous"} or item.for_types:
        return None
    if module.name.startswith("integrations.") and module.name.endswith(".schema"):
        return f"{top}: a schema module imports nothing third-party, so that it can be read when the extra is missing"
    if not module.name.startswith("hub") or not item.at_start:
        return None
    parts = LIGHT.get(top, ())
    if parts is None or _part(module.name) in parts or _surface(module.name) in parts:
        return None
    return f"{top} is imported when hub starts: import it inside the function that uses it"


def _strangers(modules: Mapping[str, Module]) -> list[str]:
    """Parts of hub/ that have no place in the order."""
    firsts = {_part(name): module for name, module in reversed(list(modules.items())) if name.startswith("hub.")}
    unplaced = sorted(firsts.keys() - ORDER.keys())
    return [f"{firsts[part].file}:1: {part} has no place in the order of parts" for part in unplaced]


def _heavy_schemas(modules: Mapping[str, Module]) -> list[str]:
    """What reading a schema would load, through any number of modules, beyond the little that it needs."""
    return [
        f"{modules[name].file}:1: reading this schema loads {top}, through {via}"
        for name in modules
        if name == "hub.sections" or name.endswith(".schema")
        for top, via in sorted(_third_party(name, modules).items())
        if top not in SCHEMA_LIGHT
    ]


def _third_party(start: str, modules: Mapping[str, Module]) -> dict[str, str]:
    """The packages of others that importing `start` loads, each with a module of ours that asks for it."""
    loaded, todo, found = set[str](), [start], dict[str, str]()
    while todo:
        name = todo.pop()
        if name in loaded or name not in modules:
            continue
        loaded.add(name)
        todo += [name.rpartition(".")[0], *_executes(modules[name], modules)]
        tops = {item.target.partition(".")[0] for item in modules[name].imports if item.at_start}
        found.update(dict.fromkeys(tops - sys.stdlib_module_names - set(FOLDERS), name))
    return found


def _cycles(modules: Mapping[str, Module]) -> list[str]:
    """One complaint for each circle of modules that import each other: at start, inside functions or for types."""
    edges = {name: sorted(_executes(module, modules) | _defers(module, modules)) for name, module in modules.items()}
    found, done = [], set[str]()
    for name in sorted(edges):
        if name in done:
            continue
        circle = _way_back(name, edges)
        if circle:
            done.update(circle)
            found.append(f"{modules[name].file}:1: a circle of imports: {' → '.join(circle)}")
    return found


def _executes(module: Module, modules: Mapping[str, Module]) -> set[str]:
    """The modules that importing `module` executes first: its targets, and the packages these lie in."""
    found = set()
    for item in module.imports:
        if not item.at_start:
            continue
        steps = item.target.split(".")
        for name in (".".join(steps[:count]) for count in range(1, len(steps) + 1)):
            # A package that is being imported already is not waited for, unless it is asked for one of its names.
            is_under_way = f"{module.name}.".startswith(f"{name}.") and name != item.target
            if name in modules and not is_under_way:
                found.add(name)
    return found


def _defers(module: Module, modules: Mapping[str, Module]) -> set[str]:
    """The modules that `module` imports inside functions or for types alone, without the packages these lie in."""
    return {
        item.target
        for item in module.imports
        if not item.at_start and item.target in modules and item.target != module.name
    }


def _way_back(start: str, edges: Mapping[str, list[str]]) -> list[str] | None:
    """The shortest way from `start` back to itself, both ends named; none if there is no such way."""
    came_from: dict[str, str] = {}
    level = [start]
    while level:
        following = []
        for name in level:
            for target in edges[name]:
                if target == start:
                    way = [name]
                    while way[-1] != start:
                        way.append(came_from[way[-1]])
                    return [*reversed(way), start]
                if target not in came_from:
                    came_from[target] = name
                    following.append(target)
        level = following
    return None

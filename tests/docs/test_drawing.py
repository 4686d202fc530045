"""The drawing of the parts shows what imports what, and no more lines than that takes."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.drawing import drawing, imports_between_parts, without_shortcuts
from tests.import_law import CHECKOUT, Module, our_tree, read_tree

SMALL = {
    "hub/core/ids.py": "",
    "hub/storage/files.py": "from hub.core import ids\n",
    "hub/skills/registry.py": "import hub.core.ids\n\n\ndef f():\n    import hub.storage.files\n",
    "hub/skills/cli.py": "import hub.gateway.server\n",
    "hub/gateway/server.py": "import hub.skills.registry\nimport hub.core.ids\n",
    "hub/hub.py": "import hub.gateway.server\n",
    "integrations/tools/files/tool.py": "import hub.skills.registry\n",
}


@pytest.fixture
def small(tmp_path: Path) -> dict[str, Module]:
    for name, source in SMALL.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source, encoding="utf-8")
    return read_tree(tmp_path)


def test_parts_import_what_their_domain_imports_wherever_it_stands(small: dict[str, Module]) -> None:
    edges = imports_between_parts(small)

    assert edges["skills"] == {"core", "storage"}
    assert edges["gateway"] == {"core", "skills"}
    assert edges["integrations"] == {"skills"}


def test_a_line_that_follows_from_others_is_left_out(small: dict[str, Module]) -> None:
    edges = without_shortcuts(imports_between_parts(small))

    assert edges["gateway"] == {"skills"}
    assert edges["skills"] == {"storage"}


def test_each_part_has_a_box_inside_the_picture_and_no_two_overlap() -> None:
    root = ElementTree.fromstring(drawing(our_tree()))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = [
        [float(each.attrib[name]) for name in ("x", "y", "width", "height")]
        for each in root.iter("{http://www.w3.org/2000/svg}rect")
    ]

    assert {path.name for path in (CHECKOUT / "hub").iterdir() if (path / "component.py").is_file()} <= set(
        re.findall(r">(\w+)</text>", drawing(our_tree()))
    )
    assert [box for box in boxes if box[0] < 0 or box[0] + box[2] > width or box[1] + box[3] > height] == []
    over = [
        (one, other)
        for one in boxes
        for other in boxes
        if one is not other and one[1] == other[1] and one[0] <= other[0] < one[0] + one[2]
    ]
    assert over == []

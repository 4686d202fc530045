from __future__ import annotations

from pathlib import Path

from hub.migrate.nearby import folders_nearby


def test_folders_of_others_are_found_by_what_gives_them_away(tmp_path: Path) -> None:
    for folder, sign in ((".openclaw", "openclaw.json"), ("homeassistant/config", ".HA_VERSION")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / sign).write_text("")
    (tmp_path / "hass").mkdir()
    (tmp_path / "hass" / "configuration.yaml").write_text("")

    found = [each for each in folders_nearby(tmp_path) if each["path"].startswith(str(tmp_path))]

    assert found == [
        {"source": "home-assistant", "path": str(tmp_path / "homeassistant" / "config")},
        {"source": "openclaw", "path": str(tmp_path / ".openclaw")},
    ]

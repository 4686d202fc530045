"""Which backups are kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hub.backup.manifest import BackupName, file_name, parse_name
from hub.backup.retention import Keep, superfluous

BEGIN = datetime(2026, 1, 1, 3, 30, tzinfo=UTC)


def made(*times: datetime) -> list[BackupName]:
    return [BackupName(f"{each:%Y-%m-%dT%H}", "home", int(each.timestamp() * 1000), False) for each in times]


def kept(backups: list[BackupName], keep: Keep, zone: str = "UTC") -> list[str]:
    gone = {each.name for each in superfluous(backups, keep, ZoneInfo(zone))}
    return sorted(each.name for each in backups if each.name not in gone)


def test_the_last_of_each_day_week_and_month_stays() -> None:
    daily = made(*(BEGIN + timedelta(days=day) for day in range(100)))

    found = kept(daily, Keep(daily=3, weekly=3, monthly=3))

    assert found == [
        "2026-02-28T03",
        "2026-03-29T03",
        "2026-03-31T03",
        "2026-04-05T03",
        "2026-04-08T03",
        "2026-04-09T03",
        "2026-04-10T03",
    ]


def test_of_one_day_the_last_one_stays() -> None:
    assert kept(made(BEGIN, BEGIN + timedelta(hours=5)), Keep(1, 0, 0)) == ["2026-01-01T08"]


def test_a_day_is_one_of_the_home() -> None:
    two = made(datetime(2026, 1, 1, 23, tzinfo=UTC), datetime(2026, 1, 2, 1, tzinfo=UTC))

    assert len(kept(two, Keep(2, 0, 0))) == 2
    assert len(kept(two, Keep(2, 0, 0), "Europe/Berlin")) == 1


def test_the_newest_always_stays() -> None:
    assert kept(made(BEGIN), Keep(0, 0, 0)) == ["2026-01-01T03"]


def test_of_one_second_the_last_one_stays() -> None:
    names = [file_name("home", 1_796_000_000_000, encrypted=False, again=again) for again in (10, 0, 2)]

    found = superfluous([each for each in map(parse_name, names) if each is not None], Keep(1, 1, 1), ZoneInfo("UTC"))

    assert [each.again for each in found] == [2, 0]

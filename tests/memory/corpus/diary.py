"""Makes up a diary of any length: entries and prose of each day, one fact that no other day has, with a question."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

LAST_DAY = date(2026, 11, 20)
TEN_YEARS_DAYS = 3_650

_WHO = ("Anna", "Ben", "Clara", "David", "Emil", "Frieda", "Gustav", "Hanna", "Igor", "Julia", "Karim", "Luise")
_WHO_ZH = ("小雨", "小宇", "晓雯", "外婆", "大舅", "依依", "周阿姨", "陈老师")
_OBJECTS = (
    *("umbrella", "bicycle pump", "thermos", "accordion", "lawn mower", "sewing machine", "chessboard", "violin"),
    *("telescope", "typewriter", "hammock", "sledge", "kettle", "barometer", "globe", "toolbox"),
)
_OBJECTS_ZH = (
    "雨伞",
    "打气筒",
    "保温瓶",
    "手风琴",
    "割草机",
    "缝纫机",
    "棋盘",
    "小提琴",
    "望远镜",
    "打字机",
    "吊床",
    "雪橇",
)
_PLACES = ("attic", "cellar", "garage", "garden shed", "hallway", "boathouse", "allotment", "workshop")
_PLACES_ZH = ("阁楼", "地下室", "车库", "花园小屋", "走廊", "船屋", "菜园", "工作间")
_EVENTS = (
    "Had lunch with {who}, mostly about the weather and the price of butter",
    "Walked along the river for {n} minutes and met {who} on the bridge",
    "The washing machine ran {n} minutes longer than it says, nobody knows why",
    "{who} called and talked about the holidays, the cat and the new neighbours",
    "Paid the water bill, {n} euros more than last year",
    "Cooked lentil soup, {who} wanted a second helping",
    "跟{zh}一起吃了晚饭，聊了{n}分钟假期的安排",
    "今天下雨，在家看书，{zh}打来电话",
    "去超市花了{n}欧元，忘了买牛奶",
    "{zh}送来一袋橘子，味道很甜",
)
_PROSE = (
    "The morning was grey and slow. We had breakfast late, read the paper and argued a little about who should carry "
    "the empty bottles to the shop. In the afternoon the sun came out for {n} minutes, and {who} fell asleep.",
    "A day of small repairs: the tap in the bathroom, the hinge of the kitchen door, the lamp above the desk. {who} "
    "held the torch and gave advice. It took {n} minutes longer than planned, as ever.",
    "早上起得晚，一家人慢慢吃早饭。下午天气转好，我们去公园走了{n}分钟，{zh}在湖边喂鸭子，回来的路上买了热面包。",
    "今天整理书房，翻出很多旧照片，{zh}看了很久，说那时候大家都年轻。晚上早早睡了，睡前看了{n}页小说。",
)


@dataclass(frozen=True, slots=True)
class Needle:
    """What one day alone says.

    Attributes:
        day: Which.
        path: The file it stands in.
        question: What finds it, by word.
        answer: A piece of the entry, which stands nowhere else.
    """

    day: date
    path: str
    question: str
    answer: str


def diary_files(days: int, seed: int = 1) -> tuple[dict[str, str], list[Needle]]:
    """Return a diary's files, text by path relative to the workspace, and what is to be found in them, oldest first.

    Args:
        days: How many, up to and with `LAST_DAY`.
        seed: Another one gives another diary.
    """
    chance = random.Random(seed)
    files: dict[str, str] = {}
    needles = []
    for number in range(days):
        day = LAST_DAY - timedelta(days=days - 1 - number)
        entry, question, answer = _fact(chance, number)
        path = f"memory/{day}.md"
        needles.append(Needle(day, path, question, answer))
        lines = [_filled(chance, chance.choice(_EVENTS)) for _ in range(chance.randint(1, 3))]
        lines.insert(chance.randint(0, len(lines)), entry)
        prose = _filled(chance, chance.choice(_PROSE)) + "\n\n" if number % 3 == 0 else ""
        items = "".join(_item(day, place, line) for place, line in enumerate(lines))
        files[path] = f"# {day}\n\n{prose}{items}"
    return files, needles


def diary(root: Path, days: int = TEN_YEARS_DAYS, seed: int = 1) -> list[Needle]:
    """Write a diary below a workspace and return what is to be found in it, the oldest first."""
    files, needles = diary_files(days, seed)
    (root / "memory").mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (root / path).write_text(text, "utf-8")
    return needles


def _fact(chance: random.Random, number: int) -> tuple[str, str, str]:
    """Return an entry, a question and the answer; a tag as on a label makes each its own."""
    tag = f"{chance.choice('BCDFGHKLMNPRSTVWXZ')}{chance.choice('AEIOU')}{number + 10_000}"
    if number % 2:
        who, thing, place = chance.choice(_WHO_ZH), chance.choice(_OBJECTS_ZH), chance.choice(_PLACES_ZH)
        return f"{who}把贴着标签 {tag} 的{thing}放在{place}", f"标签 {tag} 的{thing}在哪里？", f"标签 {tag} 的"
    who, thing, place = chance.choice(_WHO), chance.choice(_OBJECTS), chance.choice(_PLACES)
    return (
        f"{who} put the {thing} with the label {tag} into the {place}",
        f"Where is the {thing} with the label {tag}?",
        f"with the label {tag} into",
    )


def _filled(chance: random.Random, text: str) -> str:
    return text.format(who=chance.choice(_WHO), zh=chance.choice(_WHO_ZH), n=chance.randint(12, 95))


def _item(day: date, place: int, text: str) -> str:
    return f"- {text}\n  _fact · {day} {9 + place:02}:{day.toordinal() % 60:02} · from me in `agent:main:main`_\n"

"""Lays the corpus out as the memory of a home: curated file, days, people, notes; reads the questions asked of it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

HERE = Path(__file__).parent
TODAY = date(2026, 11, 21)
"""The day on which the questions are asked."""
TUNED, HELD_OUT = "questions.txt", "held_out.txt"
HARD, HARD_HELD_OUT = "hard.txt", "hard_held_out.txt"
"""Asked of a home with two more years of everyday life: `home_files(longer=True)`."""
FOREIGN = "foreign.txt"
FIRST_DAY = date(2025, 11, 21)

_ENTRY = re.compile(r"(fact|preference|decision|person|todo)(?: (\S+))?: (.+)")
_SESSIONS = {
    "me": "agent:main:main",
    "lin": "agent:main:telegram:direct:71002",
    "?": "agent:main:email:direct:offers",
}
# What happens all the time, in nearly the same words: it must not hide what happened once.
_ROUTINE = (
    "fact: Did the weekly shopping at the Rewe, {n} euros; they were out of oat milk",
    "fact: Pressure of the heating circuit is {x} bar, nothing to do",
    "fact: Mia practised the piano for {n} minutes, mostly scales and the left hand",
    "fact: Ran {x} kilometres along the Weser in the drizzle",
    "fact: Mochi weighs {x} kg on the kitchen scales, the diet goes on",
    "todo: Put out the yellow sacks, last time {n} minutes before the lorry came",
    "fact: Leo swam {n} lengths and lost his goggles again",
    "fact: The balcony panels delivered {x} kWh",
    "fact: Video call with Grandpa Werner, who talked about his roses for {n} minutes",
    "fact: Pancakes for supper, the children ate {n} between them",
    "fact: The train was {n} minutes late, worked from the quiet coach",
    "fact: Bought {n} stamps and a parcel card at the post office",
    "fact lin: 今天跑步{x}公里，风很大",
    "fact lin: 跟外婆视频了{n}分钟，她说一切都好",
    "fact lin: 去亚洲超市买了酱油和豆腐，一共{n}欧元",
    "fact: 小宇写作业写了{n}分钟，一边写一边画恐龙",
    "fact: 小雨练琴{n}分钟，主要练音阶",
    "fact lin: 晚饭做了番茄炒蛋和米饭，吃得干干净净",
    "fact: 猫咪麻薯今天{x}公斤，继续减肥",
    "fact: 阳台光伏今天发了{x}度电",
    "todo lin: 明天早上{n}分钟内把黄色垃圾袋拿出去",
    "fact: 火车又晚点{n}分钟",
)


LONGER_DAYS = 730
_EVERYDAY = (
    "小宇在学校{did}，老师给了{n}分",
    "小雨和同学去看演出，门票{n}欧元",
    "外婆打电话来，说老家下了{n}毫米的雨",
    "陪外婆去看医生，等了{n}分钟，一切正常",
    "厨房的水龙头滴水，拧紧了螺丝",
    "给同事寄了一个包裹，邮费{x}欧元",
    "邻居送来一盘蛋糕，孩子们吃了{n}口",
    "在院子里浇水、剪草，忙了{n}分钟",
    "晓雯公司开会开到很晚，晚饭我做的",
    "周末带孩子们去博物馆，逛了{n}分钟",
    "汽车加油{n}升，顺便洗了车",
    "小宇的运动鞋小了，买了新的，{n}欧元",
    "全家去公园散步，走了{x}公里",
    "小雨做眼保健操{n}分钟",
    "修好了自行车的链条，换了一个刹车片",
    "早饭吃了面包和鸡蛋，喝了{n}毫升豆浆",
    "冬天的衣服收进了箱子，一共{n}件",
    "买了{n}节电池和两个灯泡",
    "小宇背会了{n}个单词，奖励一颗星",
    "晚上和朋友视频，聊了{n}分钟孩子的事",
)
_DID = ("画了一幅画", "跑了八百米", "做了数学卷子", "唱了一首歌", "写了一篇作文")


def _everyday(chance: random.Random) -> str:
    what = chance.choice(_EVERYDAY)
    return "fact: " + what.format(
        n=chance.randint(11, 79), x=f"{chance.uniform(1.1, 9.4):.1f}", did=chance.choice(_DID)
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what answers it.

    Attributes:
        language: `en` or `zh`, of the question.
        sort: `word`, `meaning`, `date`, `person`, `across` (asked in one language, written in the other), `hard`; of
            those held out `entry` or `prose`.
        text: What is asked.
        answers: Pieces of text; a passage that has one of them is right.
    """

    language: str
    sort: str
    text: str
    answers: tuple[str, ...]


def home_files(*, longer: bool = False) -> dict[str, str]:
    """Return the corpus as memory files, text by path relative to the workspace; the same each time.

    Args:
        longer: With two years before it in which nothing happens that is asked for, but much of the same sort.
    """
    files = {"MEMORY.md": (HERE / "MEMORY.md").read_text("utf-8")}
    for source in sorted((HERE / "people").glob("*.md")):
        files[f"memory/people/{source.name}"] = source.read_text("utf-8")
    for source in sorted((HERE / "notes").glob("*.md")):
        files[f"memory/{source.name}"] = source.read_text("utf-8")
    for day, lines in sorted(_days().items()):
        items = [_item(day, number, line) for number, line in enumerate(lines)]
        files[f"memory/{day}.md"] = f"# {day}\n\n" + "".join(items)
    chance = random.Random(11)
    for number in range(1, LONGER_DAYS + 1 if longer else 1):
        day = FIRST_DAY - timedelta(days=number)
        lines = [_everyday(chance) for _ in range(chance.choice((1, 2, 3)))]
        items = [_item(day, at, line) for at, line in enumerate(lines)]
        files[f"memory/{day}.md"] = f"# {day}\n\n" + "".join(items)
    return files


def write_files(root: Path, files: dict[str, str]) -> None:
    """Write memory files below a workspace."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


def questions(name: str = TUNED) -> list[Question]:
    """Return the questions by which the ranking was chosen, or those that were not looked at for that."""
    found = []
    for line in (HERE / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            language, sort, text, answers = (part.strip() for part in line.split("|", 3))
            found.append(Question(language, sort, text, tuple(each.strip() for each in answers.split("||"))))
    return found


def area_of(path: str) -> str:
    """Return who sees a file of the corpus."""
    parts = path.split("/")
    return f"person-{parts[2].removesuffix('.md')}" if parts[1:2] == ["people"] else "private"


def _days() -> dict[date, list[str]]:
    days: dict[date, list[str]] = {}
    day = FIRST_DAY
    for line in (HERE / "days.txt").read_text("utf-8").splitlines():
        if line[:1].isdigit():
            day = date.fromisoformat(line)
        elif line:
            days.setdefault(day, []).append(line)
    chance = random.Random(7)
    routine = list(_routine(chance))
    some = chance.sample([FIRST_DAY + timedelta(days=number) for number in range((TODAY - FIRST_DAY).days)], 60)
    for each in sorted({*days, *some}):
        lines = days.setdefault(each, [])
        for _ in range(chance.choice((1, 2, 2))):
            lines.insert(chance.randint(0, len(lines)), routine.pop())
    return days


def _routine(chance: random.Random) -> Iterator[str]:
    for _ in range(400):
        yield chance.choice(_ROUTINE).format(n=chance.randint(11, 79), x=f"{chance.uniform(1.1, 9.4):.1f}")


def _item(day: date, number: int, line: str) -> str:
    match = _ENTRY.fullmatch(line)
    if match is None:
        raise ValueError(f"not an entry: {line}")
    kind, who, text = match[1], match[2] or "me", match[3]
    minutes = 7 * 60 + 17 * (number + 1) * (1 + day.toordinal() % 7)
    time = f"{day} {minutes // 60 % 24:02}:{minutes % 60:02}"
    if who == "?":
        return f"- > {text}\n  _{kind} · {time} · from someone in `{_SESSIONS[who]}` · untrusted_\n"
    return f"- {text}\n  _{kind} · {time} · from {who} in `{_SESSIONS[who]}`_\n"

"""The chart of entities: lines with gaps, a scale for each unit, and what is said under the pointer."""

from __future__ import annotations

from web.entities.chart import HEIGHT, MARGIN, STYLES, PastOf, past_chart

TOP, BOTTOM = MARGIN, HEIGHT - MARGIN


def past(name: str, unit: str, *states: tuple[float, str | None]) -> PastOf:
    return PastOf(name, unit, [{"time": time, "state": state} for time, state in states])


def test_a_value_holds_until_the_next_and_what_is_no_number_leaves_a_gap() -> None:
    power = past("Power", "W", (-50, "4"), (40, "8"), (60, "unavailable"), (70, None), (80, "6"))
    chart = past_chart([power], 0, 100, lambda time: f"{time:g}")

    assert chart is not None
    (line,) = chart.lines
    assert line.pieces == [
        f"0.0,{BOTTOM:.1f} 240.0,{BOTTOM:.1f} 240.0,{TOP:.1f} 360.0,{TOP:.1f}",
        f"480.0,{HEIGHT / 2:.1f} 600.0,{HEIGHT / 2:.1f}",
    ]
    assert (line.low, line.high, chart.times) == ("4", "8", ["0", "50", "100"])
    assert sum(each.is_gap for each in chart.columns) == 18
    gap = next(each for each in chart.columns if each.is_gap)
    assert gap.text.endswith("Power: –")


def test_several_lines_share_the_scale_of_their_unit_and_are_told_apart() -> None:
    pasts = [past("In", "°C", (0, "20")), past("Out", "°C", (0, "10")), past("Damp", "%", (0, "50"), (99.9, "60"))]
    chart = past_chart(pasts, 0, 100, lambda time: "now")

    assert chart is not None
    assert [line.pieces[0].partition(" ")[0] for line in chart.lines] == [
        f"0.0,{TOP:.1f}",
        f"0.0,{BOTTOM:.1f}",
        f"0.0,{BOTTOM:.1f}",
    ]
    assert len({(line.colour, line.dashes) for line in chart.lines}) == 3
    assert chart.columns[0].text == "now\nIn: 20 °C\nOut: 10 °C\nDamp: 50 %"
    assert chart.columns[-1].text.endswith("Damp: 50 … 60 %")


def test_no_more_lines_are_drawn_than_can_be_told_apart_and_words_are_none() -> None:
    many = [past(str(each), "", (0, str(each))) for each in range(9)]
    chart = past_chart(many, 0, 10, str)

    assert chart is not None
    assert len(chart.lines) == len(STYLES)
    assert past_chart([past("Door", "", (0, "open"))], 0, 10, str) is None

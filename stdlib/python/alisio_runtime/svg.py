"""Charts as text: one <svg> that scales with its container and needs no script.

    chart = svg.bar(["Q1", "Q2", "Q3"], [12, 18, 9], title="Sales", unit="orders")
    (output_dir() / "sales.svg").write_text(chart, encoding="utf-8")

In a page of `html.page` a chart takes the page's colours, light and dark; text is currentColor.
"""
from __future__ import annotations

import math
import re
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from ._numbers import Numbers, finite
from ._text import clean, cut, width, wrap

__all__ = ["bar"]

_WIDTH = 600.0
_FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Liberation Sans', sans-serif"
_COLOURS = ("#097276", "#be7306", "#a83824", "#233a86", "#709760", "#5f2547", "#4993c6", "#61524b")
_TEXT, _SMALL, _LINE = 12.0, 11.0, 16.0
_SECOND, _THIRD = 0.78, 0.66  # opacity of second text and of ticks
_THICK = 12.0  # of a horizontal bar
_MISSING = "–"

# As a file of its own a chart has paper and a margin; inside a page no rule here matches.
_ALONE = (
    "svg:root{box-sizing:border-box;padding:24px;background:#fff;color:#161c1b}"
    "@media screen and (prefers-color-scheme:dark){svg:root{background:#151a19;color:#e6ebe9}"
    + "".join(f"svg:root .c{i + 1}{{fill:{colour}}}" for i, colour in enumerate(
        ("#53c0c2", "#d8b147", "#c14f2e", "#7889d5", "#aac998", "#d47790", "#137796", "#7c7364"))) + "}")

Values = Sequence[Any] | Mapping[str, Sequence[Any]]


def bar(labels: Iterable[Any], values: Values, *, title: str = "", unit: str = "",
        fmt: str | Mapping[str, Any] = "number", locale: str = "en", stacked: bool = False,
        height: float | None = None, note: str = "") -> str:
    """A bar chart, as the text of an <svg> element.

    labels   what each bar is, in the order to draw
    values   a number each, or {series name: numbers} for several series side by side (at most 8)
    title    what is shown; unit: in what and for when, on the line below
    fmt      "number", "integer", "percent" (values are fractions), "compact", "currency:USD"
    locale   how numbers are written: "en", "es", "es-CO"
    stacked  series on top of each other
    height   of the plot; chosen without it
    note     a line at the foot, such as the source

    Bars stand where their labels fit below them, and lie down otherwise. A value that is missing or
    not a number keeps its place, is drawn as "–", and is told on standard error. ValueError when
    lengths differ or there are more than 8 series.
    """
    data = _Data(labels, values, stacked)
    data.tell_missing()
    numbers = Numbers(data.shown(), fmt, locale)
    sheet = _Sheet(clean(title), clean(unit), clean(note))
    if data.is_empty():
        _draw_nothing(sheet)
    else:
        sheet.legend(data.names)
        slot = (_WIDTH - _axis_room(data, numbers)) / len(data.labels)
        rows = _label_rows(data.labels, slot)
        if rows is None or slot < 3 * (1 if stacked else len(data.series)):
            _draw_lying(sheet, data, numbers, height)
        else:
            _draw_standing(sheet, data, numbers, slot, rows, height)
    return sheet.text(_describe(data, numbers))


class _Data:
    """Labels and series, checked; None where a value is missing."""

    def __init__(self, labels: Iterable[Any], values: Values, stacked: bool):
        self.labels = [clean(label) for label in labels]
        named = values if isinstance(values, Mapping) else {"": values}
        self.names = [clean(name) for name in named]
        self.given = [list(series) for series in named.values()]
        self.series = [[finite(value) for value in series] for series in self.given]
        self.stacked = stacked and len(self.series) > 1
        if len(self.series) > len(_COLOURS):
            raise ValueError(f"{len(self.series)} series cannot be told apart by colour: at most 8")
        for name, series in zip(self.names, self.series):
            if len(series) != len(self.labels):
                which = f" of {name!r}" if name else ""
                raise ValueError(f"{len(self.labels)} labels, but {len(series)} values{which}")

    def is_empty(self) -> bool:
        return not any(value is not None for series in self.series for value in series)

    def column(self, i: int) -> list[float | None]:
        return [series[i] for series in self.series]

    def ends(self, i: int) -> tuple[float, float]:
        """The lowest and the highest point of what stands at label i; zero always counts."""
        there = [value for value in self.column(i) if value is not None]
        if self.stacked:
            return sum(v for v in there if v < 0), sum(v for v in there if v > 0)
        return min([0.0, *there]), max([0.0, *there])

    def total(self, i: int) -> float | None:
        there = [value for value in self.column(i) if value is not None]
        return math.fsum(there) if there else None

    def shown(self) -> list[float]:
        """The numbers that stand in the chart."""
        if self.stacked:
            return [total for i in range(len(self.labels)) if (total := self.total(i)) is not None]
        return [value for series in self.series for value in series if value is not None]

    def tell_missing(self) -> None:
        for name, series, given in zip(self.names, self.series, self.given):
            missing = [label for label, value in zip(self.labels, series) if value is None]
            if not missing:
                continue
            which = f" of {name}" if name else ""
            some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            print(f"svg.bar: {len(missing)} of {len(given)} values{which} are missing or not numbers: {some}",
                  file=sys.stderr)


class _Sheet:
    """The drawing: head, then what is drawn below, growing downwards."""

    def __init__(self, title: str, unit: str, note: str):
        self.title, self.note = title, note
        self.parts: list[str] = []
        self.y = 0.0
        if title:
            for line in wrap(title, 13.5, _WIDTH, 2) or [cut(title, 13.5, _WIDTH)]:
                self.y += 20
                self.write(0, self.y - 5, line, size=13, weight=600)
        if unit:
            self.y += _LINE
            self.write(0, self.y - 4, cut(unit, _TEXT, _WIDTH), opacity=_SECOND)
        if title or unit:
            self.y += 12

    def legend(self, names: list[str]) -> None:
        """Swatches and names above the plot, in the order of the series."""
        if len(names) < 2:
            return
        x = 0.0
        for i, name in enumerate(names):
            name = cut(name, _TEXT, _WIDTH / 2)
            room = 14 + width(name, _TEXT)
            if x and x + room > _WIDTH:
                x = 0.0
                self.y += _LINE
            self.box(x, self.y + 4, 9, 9, i)
            self.write(x + 14, self.y + 12, name)
            x += room + 16
        self.y += _LINE + 12

    def add(self, element: str) -> None:
        self.parts.append(element)

    def write(self, x: float, y: float, text: str, *, size: float = _TEXT, anchor: str = "",
              weight: int = 0, opacity: float = 1.0) -> None:
        attributes = f'x="{_n(x)}" y="{_n(y)}"'
        if size != _TEXT:
            attributes += f' font-size="{_n(size)}"'
        if anchor:
            attributes += f' text-anchor="{anchor}"'
        if weight:
            attributes += f' font-weight="{weight}"'
        if opacity != 1:
            attributes += f' fill-opacity="{_n(opacity)}"'
        self.add(f"<text {attributes}>{escape(text, quote=False)}</text>")

    def write_centred(self, x: float, y: float, text: str, opacity: float = 1.0) -> None:
        """Around x, but never past an edge of the drawing."""
        half = width(text, _TEXT) / 2
        self.write(min(max(x, half), max(_WIDTH - half, half)), y, text, anchor="middle", opacity=opacity)

    def line(self, x1: float, y1: float, x2: float, y2: float, strong: bool = False) -> None:
        self.add(f'<path d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}" stroke="currentColor" '
                 f'stroke-opacity="{0.4 if strong else 0.14}" vector-effect="non-scaling-stroke" '
                 'shape-rendering="crispEdges"/>')

    def box(self, x: float, y: float, w: float, h: float, colour: int) -> None:
        self.add(f'<rect class="c{colour + 1}" x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" '
                 f'rx="1" fill="{_COLOURS[colour]}"/>')

    def group(self, tip: str) -> None:
        self.add(f"<g><title>{escape(tip, quote=False)}</title>")

    def end_group(self) -> None:
        self.add("</g>")

    def text(self, description: str) -> str:
        if self.note:
            for line in wrap(self.note, _SMALL, _WIDTH, 3) or [cut(self.note, _SMALL, _WIDTH)]:
                self.y += _LINE
                self.write(0, self.y - 3, line, size=_SMALL, opacity=_THIRD)
        body = "\n".join(self.parts)
        key = f"a{zlib.crc32(body.encode()):08x}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="alisio-chart" viewBox="0 0 {_n(_WIDTH)} {_n(self.y)}" '
            f'role="img" aria-labelledby="{key}t {key}d" font-family="{escape(_FONT)}" font-size="{_n(_TEXT)}" '
            f'fill="currentColor">\n<title id="{key}t">{escape(self.title or "Bar chart", quote=False)}</title>\n'
            f'<desc id="{key}d">{escape(description, quote=False)}</desc>\n<style>{_ALONE}</style>\n{body}\n</svg>\n')


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


# ---- scales and labels ----


def _ticks(low: float, high: float) -> tuple[list[float], int]:
    """Three to six round numbers from low to high, and the decimals they need."""
    if low == high:
        high = low + 1
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * round_ for round_ in (1, 2, 2.5, 5, 10, 20) if _lines(low, high, power * round_) <= 6)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if not math.isclose(round(step, decimals), step):  # 0.25, 2.5
        decimals += 1
    return [i * step for i in range(first, last + 1)], decimals


def _lines(low: float, high: float, step: float) -> int:
    return math.ceil(high / step - 1e-9) - math.floor(low / step + 1e-9) + 1


def _scale(data: _Data) -> tuple[list[float], int]:
    ends = [data.ends(i) for i in range(len(data.labels))]
    return _ticks(min(low for low, _ in ends), max(high for _, high in ends))


def _axis_room(data: _Data, numbers: Numbers) -> float:
    ticks, decimals = _scale(data)
    return max(width(numbers.tick(tick, decimals), _SMALL) for tick in ticks) + 10


_MONTH = ("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic|enero|febrero|marzo|abril|mayo|junio|"
          "julio|agosto|septiembre|octubre|noviembre|diciembre|january|february|march|april|june|july|august|"
          "september|october|november|december|sept")
_TIME = re.compile(
    rf"(\d{{4}}([-/](\d{{1,2}}|[QTW]\d{{1,2}})([-/]\d{{1,2}})?)?|([QT][1-4]|({_MONTH})\.?)([ -]?'?\d{{2,4}})?|"
    rf"\d{{1,2}}[-/ ]({_MONTH}|\d{{1,2}})([-/ ]\d{{2,4}})?)", re.IGNORECASE)


def _label_rows(labels: list[str], slot: float) -> list[list[str]] | None:
    """Lines of text below each bar. None when they do not fit: then bars lie down, except those of
    time, which runs from left to right and leaves out labels instead."""
    rows = [wrap(label, _TEXT, slot - 8, 2) for label in labels]
    if all(row is not None for row in rows):
        return [row or [] for row in rows]
    if not all(_TIME.fullmatch(label) for label in labels):
        return None
    every = math.ceil((max(width(label, _TEXT) for label in labels) + 12) / slot)
    return [[label] if i % every == 0 else [] for i, label in enumerate(labels)]


# ---- drawing ----


def _draw_nothing(sheet: _Sheet) -> None:
    sheet.line(0, sheet.y + 0.5, _WIDTH, sheet.y + 0.5)
    sheet.write(_WIDTH / 2, sheet.y + 76, "No data", anchor="middle", opacity=_SECOND)
    sheet.y += 144
    sheet.line(0, sheet.y + 0.5, _WIDTH, sheet.y + 0.5, strong=True)
    sheet.y += 4


def _draw_standing(sheet: _Sheet, data: _Data, numbers: Numbers, slot: float, rows: list[list[str]],
                   height: float | None) -> None:
    ticks, decimals = _scale(data)
    left = _axis_room(data, numbers)
    plot = height or 200.0
    top = sheet.y + (_LINE if data.shown() and max(data.shown()) > 0.93 * ticks[-1] else 6)
    bottom = top + plot
    per_unit = plot / (ticks[-1] - ticks[0])

    def at(value: float) -> float:
        return bottom - (value - ticks[0]) * per_unit

    for tick in ticks:
        y = round(at(tick)) + 0.5
        sheet.line(left, y, _WIDTH, y, strong=tick == 0)
        sheet.write(left - 8, y + 3.5, numbers.tick(tick, decimals), size=_SMALL, anchor="end", opacity=_THIRD)
    below = 8 + (_LINE if ticks[0] < 0 and min(data.shown()) < 0.93 * ticks[0] else 0)
    bars = 1 if data.stacked else len(data.series)
    thick = min(56.0 if bars == 1 else 28.0, slot * (0.64 if bars == 1 else 0.8) / bars)
    shows = _standing_labels(data, numbers, slot if data.stacked else slot / bars if bars > 1 else slot)
    for i, lines in enumerate(rows):
        middle = left + slot * (i + 0.5)
        sheet.group(_tip(data, numbers, i))
        if data.stacked:
            _stand_stack(sheet, data, numbers, i, middle, thick, at, i in shows)
        else:
            for k, value in enumerate(data.column(i)):
                x = middle + (k - bars / 2) * thick
                _stand_bar(sheet, numbers, value, x, thick, k, at, i in shows, gap=1.0 if bars > 1 else 0.0)
        for n, line in enumerate(lines):
            sheet.write_centred(middle, bottom + below + 9 + n * 15, line)
        sheet.end_group()
    sheet.y = bottom + below + 15 * max(1, max(len(lines) for lines in rows)) + 2


def _standing_labels(data: _Data, numbers: Numbers, room: float) -> set[int]:
    """Which bars carry their value: all where it fits, else the highest and the last."""
    shown = data.shown()
    if max(width(numbers.text(value), _TEXT) for value in shown) + 4 <= room:
        return set(range(len(data.labels)))
    if len(data.series) > 1 and not data.stacked:
        return set()
    totals = {i: total for i in range(len(data.labels)) if (total := data.total(i)) is not None}
    highest, last = max(totals, key=lambda i: totals[i]), max(totals)
    slots_apart = abs(highest - last)
    return {highest, last} if slots_apart * room > width(numbers.text(totals[highest]), _TEXT) + 8 else {highest}


def _stand_bar(sheet: _Sheet, numbers: Numbers, value: float | None, x: float, thick: float, colour: int,
               at: Any, labelled: bool, gap: float) -> None:
    if value is None:
        sheet.write_centred(x + thick / 2, at(0) - 5, _MISSING, _THIRD)
        return
    top, bottom = sorted((at(value), at(0)))
    sheet.box(x + gap / 2, top, thick - gap, max(bottom - top, 0.75 if value else 0), colour)
    if labelled:
        sheet.write_centred(x + thick / 2, top - 5 if value >= 0 else bottom + 13, numbers.text(value))


def _stand_stack(sheet: _Sheet, data: _Data, numbers: Numbers, i: int, middle: float, thick: float, at: Any,
                 labelled: bool) -> None:
    up = down = 0.0
    for k, value in enumerate(data.column(i)):
        if not value:
            continue
        start = up if value > 0 else down
        top, bottom = sorted((at(start), at(start + value)))
        sheet.box(middle - thick / 2, top, thick, max(bottom - top - 1, 0.75), k)
        up, down = (up + value, down) if value > 0 else (up, down + value)
    total = data.total(i)
    if total is None:
        sheet.write_centred(middle, at(0) - 5, _MISSING, _THIRD)
    elif labelled:
        sheet.write_centred(middle, at(up) - 5, numbers.text(total))


def _draw_lying(sheet: _Sheet, data: _Data, numbers: Numbers, height: float | None) -> None:
    """A ruled table: label, bar, and the value in a column at the right."""
    bars = 1 if data.stacked else len(data.series)
    row = max(24.0, bars * (_THICK + 4) + 8)
    if height:
        row = max(bars * 6.0 + 8, height / len(data.labels))
    thick = min(_THICK, (row - 8) / bars - (4 if bars > 1 else 0))
    names_room = min(max(width(label, _TEXT) for label in data.labels), _WIDTH * 0.38) + 12
    values_room = max(width(numbers.text(value), _TEXT) for value in data.shown()) + 14
    low = min(data.ends(i)[0] for i in range(len(data.labels)))
    high = max(data.ends(i)[1] for i in range(len(data.labels)))
    per_unit = (_WIDTH - names_room - values_room) / ((high - low) or 1)

    def at(value: float) -> float:
        return names_room + (value - low) * per_unit

    top = sheet.y
    for i, label in enumerate(data.labels):
        y = sheet.y
        sheet.line(0, round(y) + 0.5, _WIDTH, round(y) + 0.5)
        sheet.group(_tip(data, numbers, i))
        sheet.write(0, y + row / 2 + 4, cut(label, _TEXT, names_room - 12))
        if data.stacked:
            _lay_stack(sheet, data, numbers, i, y + row / 2, thick, at)
        else:
            for k, value in enumerate(data.column(i)):
                centre = y + row / 2 + (k - (bars - 1) / 2) * (thick + 4)
                _lay_bar(sheet, numbers, value, centre, thick, k, at)
        sheet.end_group()
        sheet.y += row
    zero = round(at(0)) + 0.5
    sheet.line(zero, top, zero, sheet.y, strong=True)
    sheet.line(0, round(sheet.y) + 0.5, _WIDTH, round(sheet.y) + 0.5)
    sheet.y += 6


def _lay_bar(sheet: _Sheet, numbers: Numbers, value: float | None, centre: float, thick: float, colour: int,
             at: Any) -> None:
    if value is None:
        sheet.write(_WIDTH, centre + 4, _MISSING, anchor="end", opacity=_THIRD)
        return
    start, end = sorted((at(value), at(0)))
    sheet.box(start, centre - thick / 2, max(end - start, 0.75 if value else 0), thick, colour)
    sheet.write(_WIDTH, centre + 4, numbers.text(value), anchor="end")


def _lay_stack(sheet: _Sheet, data: _Data, numbers: Numbers, i: int, centre: float, thick: float, at: Any) -> None:
    up = down = 0.0
    for k, value in enumerate(data.column(i)):
        if not value:
            continue
        origin = up if value > 0 else down
        start, end = sorted((at(origin), at(origin + value)))
        sheet.box(start, centre - thick / 2, max(end - start - 1, 0.75), thick, k)
        up, down = (up + value, down) if value > 0 else (up, down + value)
    total = data.total(i)
    sheet.write(_WIDTH, centre + 4, _MISSING if total is None else numbers.text(total), anchor="end",
                opacity=_THIRD if total is None else 1)


# ---- words ----


def _tip(data: _Data, numbers: Numbers, i: int) -> str:
    """What a pointer at label i is told."""
    def said(value: float | None) -> str:
        return _MISSING if value is None else numbers.text(value)

    if len(data.series) == 1:
        return f"{data.labels[i]}: {said(data.series[0][i])}"
    parts = [f"{name} {said(value)}" for name, value in zip(data.names, data.column(i))]
    if data.stacked:
        parts.append(f"= {said(data.total(i))}")
    return f"{data.labels[i]}: {', '.join(parts)}"


def _describe(data: _Data, numbers: Numbers) -> str:
    """The chart for those who do not see it: what it is, and its numbers."""
    if data.is_empty():
        return "A bar chart without data."
    count = len(data.labels)
    lines = [f"A bar chart of {count} {'value' if count == 1 else 'values'}."]
    if len(data.series) > 1:
        lines = [f"A bar chart of {count} groups: {', '.join(data.names)}."]
    lines += [_tip(data, numbers, i) + "." for i in range(min(count, 30))]
    if count > 30:
        lines.append(f"{count - 30} more.")
    return " ".join(lines)

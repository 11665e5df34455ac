"""Text in drawings: how wide it is about, where it breaks, where it is cut."""
from __future__ import annotations

import re
import unicodedata

# Characters that XML cannot hold, and line breaks, which a label has no use for.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+")

# Widths in em of the widest of the common sans-serif fonts, so that what is measured to fit does fit
# everywhere; characters that are not named have 0.64.
_WIDTHS = {character: width for characters, width in (
    ("ijlI|'", 0.30), (".,:;· !", 0.34), ("ftr()[]/\\\"", 0.41), ("-Jsz", 0.53), ("ckvxyz?", 0.60),
    ("ABCEFGKLPRSTVXYZ", 0.70), ("DHNOQU&w", 0.82), ("mMW@%—…", 1.0),
) for character in characters}


def clean(text: object) -> str:
    """Text that an element of a drawing can hold."""
    return _UNFIT.sub(" ", str(text)).strip()


def width(text: str, size: float) -> float:
    """About how wide text is, in the unit of size."""
    total = 0.0
    for character in text:
        if character in _WIDTHS:
            total += _WIDTHS[character]
        elif unicodedata.combining(character):
            continue
        elif unicodedata.east_asian_width(character) in "WF":
            total += 1.0
        else:
            total += 0.64
    return total * size


def cut(text: str, size: float, room: float) -> str:
    """The text, or its beginning and "…" where it is wider than room."""
    if width(text, size) <= room:
        return text
    while text and width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def wrap(text: str, size: float, room: float, lines: int) -> list[str] | None:
    """The text in at most so many lines that fit, broken at spaces; None when that cannot be."""
    done: list[str] = []
    for word in text.split():
        joined = f"{done[-1]} {word}" if done else word
        if done and width(joined, size) <= room:
            done[-1] = joined
        elif width(word, size) <= room and len(done) < lines:
            done.append(word)
        else:
            return None
    return done or [""]

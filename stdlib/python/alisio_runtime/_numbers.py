"""Numbers as people of a locale write them, with as many decimals as a chart needs."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

NBSP = "\N{NO-BREAK SPACE}"
NARROW = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"

# Decimal mark, group mark, digits from which groups are written, space before "%" and the currency
# in front of the amount. By language, then regions that differ from it (CLDR).
_MARKS = {
    "en": (".", ",", 4, "", True),
    "es": (",", ".", 5, NBSP, False),
    "pt": (",", ".", 4, "", True),
    "fr": (",", NARROW, 4, NARROW, False),
    "de": (",", ".", 4, NBSP, False),
    "it": (",", ".", 4, "", False),
}
_DOT_SPANISH = {"MX", "US", "419", "GT", "HN", "SV", "NI", "PA", "DO", "PR", "PE"}
_COMMA_SPANISH = {"CO", "AR", "CL", "UY", "EC", "VE", "PY", "BO"}

_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "BRL": "R$", "KRW": "₩", "CNY": "CN¥"}
_DOLLAR_AT_HOME = {"CO": "COP", "MX": "MXN", "AR": "ARS", "CL": "CLP", "UY": "UYU", "CA": "CAD", "AU": "AUD"}

_COMPACT = {
    "en": ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")),
    "es": ((1e12, NBSP + "B"), (1e6, NBSP + "M"), (1e3, NBSP + "mil")),
}

_FORMATS = ("number", "integer", "percent", "compact", "currency:CODE")


def finite(value: Any) -> float | None:
    """A number as a float; None for what is missing, is no number, or has no end."""
    if value is None or isinstance(value, (str, bytes, bool)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


class Numbers:
    """Writes the values of one chart alike.

    fmt     "number", "integer", "percent" (values are fractions), "compact", "currency:USD", or the
            options of Intl.NumberFormat as a dict (style, currency, notation, fraction digits)
    locale  a tag such as "en", "es-CO"
    """

    def __init__(self, values: Iterable[float], fmt: str | Mapping[str, Any] = "number", locale: str = "en"):
        self._fewest, self._most = 0, None
        self._style, self._currency = _style(fmt)
        if isinstance(fmt, Mapping):
            self._fewest = int(fmt.get("minimumFractionDigits", 0))
            self._most = fmt.get("maximumFractionDigits")
        language, _, region = locale.replace("_", "-").partition("-")
        self._language, self._region = language.lower(), region.upper()
        marks = _MARKS.get(self._language, _MARKS["en"])
        if self._language == "es" and self._region in _DOT_SPANISH:
            marks = (".", ",", 4, NBSP, True)
        elif self._language == "es" and self._region in _COMMA_SPANISH:
            marks = (",", ".", 4, NBSP, True)
        self._decimal, self._group, self._group_from, self._before_percent, self._symbol_first = marks
        self._decimals = self._needed([abs(value) for value in values])

    def text(self, value: float) -> str:
        """The value with its unit: 1,204, −3.5, 12.5%, $1.2K."""
        if self._style == "percent":
            return self._sign(value) + self._digits(abs(value) * 100) + self._before_percent + "%"
        amount = self._compact(abs(value)) if self._style == "compact" else self._digits(abs(value))
        if self._style != "currency":
            return self._sign(value) + amount
        symbol = self._symbol()
        if not self._symbol_first:
            return self._sign(value) + amount + NBSP + symbol
        apart = NBSP if self._language == "es" and self._region in _COMMA_SPANISH or symbol.isalpha() else ""
        return self._sign(value) + symbol + apart + amount

    def tick(self, value: float, decimals: int) -> str:
        """A number of the axis: without its unit, but for percent."""
        decimals = decimals if value else 0
        scaled = abs(value) * 100 if self._style == "percent" else abs(value)
        if self._style == "compact":
            return self._sign(value) + self._compact(scaled)
        digits = self._fixed(scaled, max(0, decimals - 2 if self._style == "percent" else decimals))
        return self._sign(value) + digits + (self._before_percent + "%" if self._style == "percent" else "")

    def _needed(self, magnitudes: list[float]) -> int:
        """As few decimals as tell the values, and no more than their size deserves."""
        if self._most is not None:
            limit = int(self._most)
        elif self._style == "integer":
            limit = 0
        elif self._style == "percent":
            limit = 1
        else:
            top = max(magnitudes, default=0)
            limit = 2 if top < 100 else 1 if top < 10_000 else 0
        scale = 100 if self._style == "percent" else 1
        for decimals in range(self._fewest, limit):
            if all(math.isclose(round(m * scale, decimals), round(m * scale, limit), abs_tol=1e-12)
                   for m in magnitudes):
                return decimals
        return max(limit, self._fewest)

    def _sign(self, value: float) -> str:
        rounded = abs(value) * (100 if self._style == "percent" else 1)
        shown = self._style == "compact" or round(rounded, self._decimals) != 0
        return MINUS if value < 0 and shown else ""

    def _digits(self, magnitude: float) -> str:
        return self._fixed(magnitude, self._decimals)

    def _fixed(self, magnitude: float, decimals: int) -> str:
        whole, _, fraction = f"{magnitude:.{decimals}f}".partition(".")
        if len(whole) >= self._group_from:
            whole = f"{int(whole):,}".replace(",", self._group)
        return whole + (self._decimal + fraction if fraction else "")

    def _compact(self, magnitude: float) -> str:
        for size, suffix in _COMPACT.get(self._language, _COMPACT["en"]):
            if magnitude >= size * 0.9995:
                number = magnitude / size
                whole = number >= 99.95 or round(number, 1) == round(number)
                return self._fixed(number, 0 if whole else 1) + suffix
        return self._fixed(magnitude, 0 if magnitude == int(magnitude) else 1 if magnitude >= 10 else 2)

    def _symbol(self) -> str:
        if _DOLLAR_AT_HOME.get(self._region) == self._currency:
            return "$"
        return _SYMBOLS.get(self._currency, self._currency)


def _style(fmt: str | Mapping[str, Any]) -> tuple[str, str]:
    """The style and the currency that a format means."""
    if isinstance(fmt, Mapping):
        if fmt.get("notation") == "compact":
            return "compact", ""
        style = str(fmt.get("style", "decimal"))
        return ("number" if style == "decimal" else style), str(fmt.get("currency", "USD")).upper()
    name, _, currency = fmt.partition(":")
    if name == "currency" and len(currency) == 3 and currency.isalpha():
        return "currency", currency.upper()
    if name in ("number", "integer", "percent", "compact") and not currency:
        return name, ""
    raise ValueError(f"fmt {fmt!r} is not known; one of {', '.join(_FORMATS)}")

"""Pages that work offline: one file, light and dark, narrow and wide, nothing from the network.

    html.write("index.html", "Sales", f"<h1>Sales</h1>{chart}")
"""
from __future__ import annotations

import importlib
import os
from html import escape
from pathlib import Path

from ._folders import beneath, output_dir

__all__ = ["escape", "inline_plotly", "page", "write"]

# Scripts and styles of the page itself, pictures it carries, and nothing that would be fetched.
_POLICY = ("default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
           "img-src data: blob:; font-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'")


def page(title: str, body: str, *, lang: str = "en", head: str = "") -> str:
    """A whole HTML document around `body`, with the look of Alisio.

    title  of the document; a heading on the page is part of body
    body   HTML; text that comes from data goes through `escape` first
    lang   language of the text, such as "es"
    head   more elements for the head, such as a <style> of the page's own

    Headings, paragraphs, lists, tables, code and svg charts need no class. A table in a
    `<div class="wide">` scrolls sideways when it is too wide, `<td class="n">` holds a number, and
    `<div class="grid">` puts its children side by side where there is room.
    """
    css = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="{escape(lang)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<style>
{css}</style>
{head}
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def write(name: str | os.PathLike[str], title: str, body: str, *, lang: str = "en", head: str = "") -> Path:
    """Writes `page(title, body)` as `name` into the output folder, and answers its path."""
    path = beneath(output_dir(), name)
    path.write_text(page(title, body, lang=lang, head=head), encoding="utf-8")
    return path


def inline_plotly() -> str:
    """The Plotly library as a `<script>`, to stand once in a page before its figures.

        figures = figure.to_html(full_html=False, include_plotlyjs=False)
        html.write("index.html", "Sales", html.inline_plotly() + figures)

    ModuleNotFoundError where Plotly is not installed: it comes with the extra `analysis`.
    """
    try:
        library: str = importlib.import_module("plotly.offline").get_plotlyjs()
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != "plotly":
            raise
        raise ModuleNotFoundError(
            'Plotly is not installed: run the script with extras=["analysis"], '
            "or install it with: alisio analysis setup --extras analysis", name="plotly") from None
    return "<script>" + library.replace("</script", "<\\/script") + "</script>\n"

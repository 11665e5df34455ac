"""Helpers for scripts that Alisio runs: where files go, pages, charts, datasets.

Pure Python, standard library only, copied next to every script.

    from alisio_runtime import output_dir, html, svg, outputs

    chart = svg.bar(["Q1", "Q2", "Q3"], [12, 18, 9], title="Sales", unit="orders")
    html.write("index.html", "Sales", f"<h1>Sales</h1>{chart}")
    (output_dir() / "summary.md").write_text("# Summary\\n", encoding="utf-8")
    outputs.declare("index.html", title="Sales dashboard")
"""
from __future__ import annotations

from ._folders import execution_id, input_dir, output_dir, work_dir

__all__ = ["datasets", "execution_id", "html", "input_dir", "output_dir", "outputs", "svg", "work_dir"]

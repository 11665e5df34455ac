"""The helpers beside every script: folders, outputs, pages, datasets, charts."""
import contextlib
import decimal
import fractions
import importlib.util
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "stdlib" / "python"), str(ROOT / "tests" / "lib")]

from alisio_test import main  # noqa: E402
from alisio_runtime import _text, datasets, html, svg  # noqa: E402
from alisio_runtime._numbers import MINUS, NBSP, Numbers, finite  # noqa: E402
import alisio_runtime  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


class JobCase(unittest.TestCase):
    """Each test has the folders of a job."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for variable, name in (("OUTPUT", "staging"), ("INPUT", "input"), ("WORK", "work")):
            (self.top / name).mkdir()
            os.environ[f"ALISIO_{variable}_DIR"] = str(self.top / name)
        os.environ["ALISIO_EXECUTION_ID"] = "exec_x"
        self.output = self.top / "staging"

    def script(self, code):
        """Runs code as a job does, in a process of its own."""
        env = {name: value for name, value in os.environ.items() if name.startswith("ALISIO_")}
        path = self.top / "main.py"
        path.write_text(f"import sys\nsys.path.insert(0, {str(ROOT / 'stdlib' / 'python')!r})\n{code}")
        return subprocess.run([sys.executable, "-E", "-s", "-B", "-X", "utf8", str(path)], env=env,
                              capture_output=True, encoding="utf-8", check=False)


class Folders(JobCase):
    def test_are_those_of_the_job(self):
        self.assertEqual(alisio_runtime.output_dir(), self.output)
        self.assertEqual(alisio_runtime.input_dir(), self.top / "input")
        self.assertEqual(alisio_runtime.work_dir(), self.top / "work")
        self.assertEqual(alisio_runtime.execution_id(), "exec_x")

    def test_are_made_when_the_script_removed_them(self):
        self.output.rmdir()
        self.assertTrue(alisio_runtime.output_dir().is_dir())

    def test_stand_in_the_working_folder_outside_a_job(self):
        for name in ("OUTPUT_DIR", "INPUT_DIR", "WORK_DIR", "EXECUTION_ID"):
            del os.environ["ALISIO_" + name]
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.top)
        self.assertEqual(alisio_runtime.output_dir(), self.top.resolve() / "output")
        self.assertEqual(alisio_runtime.execution_id(), "")

    def test_the_example_of_the_package_works(self):
        code = re.sub(r"(?m)^    ", "", alisio_runtime.__doc__.split("\n\n", 2)[2])
        done = self.script(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.output)), ["index.html", "outputs.json", "summary.md"])

    def test_importing_it_loads_no_more_than_it_needs(self):
        done = self.script("import alisio_runtime\nprint('sqlite3' in sys.modules, 'json' in sys.modules)")
        self.assertEqual(done.stdout, "False False\n")


class Outputs(JobCase):
    def manifest(self):
        return json.loads((self.output / "outputs.json").read_text(encoding="utf-8"))["artifacts"]

    def test_a_declaration_is_written_at_once(self):
        code = ("from alisio_runtime import outputs\nimport os\n"
                "outputs.declare('a.html', title='Über')\nos._exit(0)")
        self.assertEqual(self.script(code).returncode, 0)
        self.assertEqual(self.manifest(), [{"path": "a.html", "title": "Über"}])

    def test_what_is_not_declared_is_published_too(self):
        done = self.script(
            "from alisio_runtime import outputs, output_dir\n"
            "out = output_dir()\n"
            "for name in ('a.html', 'b.md', '.hidden'):\n    (out / name).write_text('x')\n"
            "(out / 'site').mkdir()\n(out / 'more').mkdir()\n"
            "outputs.declare('a.html', title='A')\n"
            "outputs.declare('site', entry='start.html')\n"
            "outputs.declare('more/inner.csv')\n"
            "outputs.declare(out / 'a.html', title='Again')\n")
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.manifest(), [
            {"path": "a.html", "title": "Again"}, {"path": "site", "entry": "start.html"},
            {"path": "more/inner.csv"}, {"path": "b.md"}])

    def test_paths_stay_in_the_output_folder(self):
        for path in ("/etc/passwd", "../x", "a/../../x", ""):
            done = self.script(f"from alisio_runtime import outputs\noutputs.declare({path!r})")
            self.assertIn("ValueError", done.stderr, path)


class Pages(JobCase):
    def test_a_page_is_one_file_that_asks_the_network_for_nothing(self):
        path = html.write("sub/index.html", "A & B <1>", "<h1>Hello</h1>", lang="es")
        text = path.read_text(encoding="utf-8")
        self.assertEqual(path, self.output / "sub" / "index.html")
        self.assertIn("<title>A &amp; B &lt;1&gt;</title>", text)
        self.assertIn('<html lang="es">', text)
        self.assertIn("<h1>Hello</h1>", text)
        self.assertIn("default-src 'none'", text)
        self.assertIn('name="viewport"', text)
        self.assertIn("prefers-color-scheme: dark", text)
        for word in ("http:", "https:", "@import", "url(", "<script", "<link"):
            self.assertNotIn(word, text)

    def test_names_stay_in_the_output_folder(self):
        for name in ("/tmp/x.html", "../x.html", ""):
            with self.assertRaises(ValueError):
                html.write(name, "t", "b")

    def test_plotly_stands_in_the_page_itself(self):
        package = self.top / "plotly"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "offline.py").write_text("def get_plotlyjs():\n    return 'var Plotly = \"</script>\";'\n")
        done = self.script("from alisio_runtime import html\nprint(html.inline_plotly(), end='')")
        self.assertEqual(done.stdout, '<script>var Plotly = "<\\/script>";</script>\n', done.stderr)
        (package / "offline.py").write_text("import no_such_module\n")
        done = self.script("from alisio_runtime import html\nhtml.inline_plotly()")
        self.assertIn("ModuleNotFoundError: No module named 'no_such_module'", done.stderr)

    @unittest.skipIf(importlib.util.find_spec("plotly"), "this Python has Plotly")
    def test_without_plotly_it_says_where_it_comes_from(self):
        with self.assertRaisesRegex(ModuleNotFoundError, 'extras=."analysis".*alisio analysis setup --extras analysis'):
            html.inline_plotly()

    def test_the_colours_are_those_of_charts(self):
        css = (ROOT / "stdlib/python/alisio_runtime/page.css").read_text(encoding="utf-8")
        for i, colour in enumerate(svg._COLOURS, 1):
            self.assertIn(f"--c{i}: {colour};", css)
            self.assertIn(f".c{i} {{ fill: var(--c{i}); }}", css)


class Datasets(JobCase):
    def setUp(self):
        super().setUp()
        self.file = self.top / "input" / "sales q1.sqlite"
        db = sqlite3.connect(self.file)
        db.executescript("""
            CREATE TABLE data (region, total);
            INSERT INTO data VALUES ('East', 1.5), ('West', NULL);
            CREATE TABLE s_more (x);
            CREATE TABLE _alisio_meta (key, value);
            CREATE TABLE _alisio_sheets (ordinal, name, table_name, rows, columns);
            INSERT INTO _alisio_sheets VALUES (2, 'More', 's_more', 0, 1), (1, 'data', 'data', 2, 2);
            CREATE TABLE _alisio_columns (table_name, ordinal, name, label, inferred_type, nulls, distinct_count,
              distinct_exact, min, max, mean, text_fallbacks, top_values);
            INSERT INTO _alisio_columns VALUES
              ('data', 2, 'total', 'Total', 'real', 1, 1, 1, '1.5', '1.5', 1.5, 0, NULL),
              ('data', 1, 'region', 'Región', 'text', 0, 2, 0, 'East', 'West', NULL, 0,
               '[{"value":"East","count":1}]');
        """)
        db.close()
        (self.top / "input" / "inputs.json").write_text(json.dumps({"inputs": [
            {"name": "sales q1.sqlite", "kind": "dataset", "source": "ds_1", "sha256": "", "bytes": 1},
            {"name": "a.csv", "kind": "file", "source": "a.csv", "sha256": "", "bytes": 1}]}))

    def test_open_by_name_file_or_id(self):
        for name in ("sales q1", "sales q1.sqlite", "ds_1"):
            db = datasets.open(name)
            row = db.execute("SELECT region, total FROM data").fetchone()
            self.assertEqual((row["region"], row[1]), ("East", 1.5))
            db.close()

    def test_nothing_can_be_written(self):
        before = self.file.read_bytes(), os.listdir(self.file.parent)
        db = datasets.open("sales q1")
        self.addCleanup(db.close)
        for statement in ("INSERT INTO data VALUES (1, 2)", "CREATE TABLE x (y)", "DROP TABLE data"):
            with self.assertRaises(sqlite3.OperationalError):
                db.execute(statement)
        self.assertEqual((self.file.read_bytes(), os.listdir(self.file.parent)), before)

    def test_columns_tell_hints_and_statistics(self):
        first, second = datasets.columns("sales q1")
        self.assertEqual((first["name"], first["label"], first["type"]), ("region", "Región", "text"))
        self.assertEqual((first["distinct"], first["distinct_exact"]), (2, False))
        self.assertEqual(first["top"], [{"value": "East", "count": 1}])
        self.assertEqual((second["nulls"], second["mean"], second["top"]), (1, 1.5, []))
        self.assertEqual([entry["table"] for entry in datasets.tables("sales q1")], ["data", "s_more"])

    def test_what_is_not_there_is_named_with_what_is(self):
        with self.assertRaisesRegex(FileNotFoundError, "no dataset 'a.csv'.*there: sales q1"):
            datasets.open("a.csv")
        with self.assertRaisesRegex(ValueError, "no table 'x'.*there: data, s_more"):
            datasets.columns("sales q1", "x")

    def test_without_a_list_there_is_none(self):
        (self.top / "input" / "inputs.json").unlink()
        self.assertEqual(datasets.inputs(), [])


class Text(unittest.TestCase):
    def test_is_cut_with_an_ellipsis(self):
        self.assertEqual(_text.cut("short", 12, 100), "short")
        cut = _text.cut("a rather long label", 12, 60)
        self.assertTrue(cut.endswith("…") and _text.width(cut, 12) <= 60)
        self.assertEqual(_text.cut("abc", 12, 0), "…")

    def test_wraps_at_spaces_or_not_at_all(self):
        self.assertEqual(_text.wrap("Región Cafetera", 12, 70, 2), ["Región", "Cafetera"])
        self.assertIsNone(_text.wrap("Regióncafetera", 12, 60, 2))
        self.assertIsNone(_text.wrap("one two three", 12, 40, 2))
        self.assertEqual(_text.wrap("", 12, 60, 2), [""])

    def test_wide_and_combining_characters_count_as_they_are(self):
        self.assertEqual(_text.width("日本", 10), 20)
        self.assertEqual(_text.width("e\u0301", 10), _text.width("e", 10))

    def test_what_xml_cannot_hold_becomes_a_space(self):
        self.assertEqual(_text.clean("a\x00b\nc\ud800d\ufffe"), "a b c d")


class NumberTexts(unittest.TestCase):
    def texts(self, values, *options):
        numbers = Numbers(values, *options)
        return [numbers.text(value) for value in values]

    def test_have_as_many_decimals_as_they_deserve(self):
        self.assertEqual(self.texts([12, 18, 9]), ["12", "18", "9"])
        self.assertEqual(self.texts([1.5, 2.25]), ["1.50", "2.25"])
        self.assertEqual(self.texts([1234.56, 2]), ["1,234.6", "2.0"])
        self.assertEqual(self.texts([1234567.891]), ["1,234,568"])
        self.assertEqual(self.texts([0.1 + 0.2]), ["0.3"])

    def test_say_less_than_zero_with_a_minus(self):
        self.assertEqual(self.texts([-3, -1204.5]), [f"{MINUS}3.0", f"{MINUS}1,204.5"])
        self.assertEqual(Numbers([1], "integer").text(-0.4), "0")
        self.assertEqual(self.texts([-5], "currency:USD"), [f"{MINUS}$5"])

    def test_follow_the_locale(self):
        self.assertEqual(self.texts([1234.5, 12345], "number", "es"), ["1234", "12.345"])
        self.assertEqual(self.texts([1234.5], "number", "es-CO"), ["1.234,5"])
        self.assertEqual(self.texts([1234.5], "number", "es-MX"), ["1,234.5"])
        self.assertEqual(self.texts([1234.5], "number", "de-DE"), ["1.234,5"])
        self.assertEqual(self.texts([1234.5], "number", "xx"), ["1,234.5"])

    def test_percent_compact_and_money(self):
        self.assertEqual(self.texts([0.106, 0.5], "percent"), ["10.6%", "50.0%"])
        self.assertEqual(self.texts([0.5], "percent", "es"), [f"50{NBSP}%"])
        self.assertEqual(self.texts([950, 1500, 2.5e6, 3e9, 1.2e13], "compact"), ["950", "1.5K", "2.5M", "3B", "12T"])
        self.assertEqual(self.texts([999_999], "compact"), ["1M"])
        self.assertEqual(self.texts([1500, 3e6], "compact", "es"), [f"1,5{NBSP}mil", f"3{NBSP}M"])
        self.assertEqual(self.texts([12.5], "currency:EUR", "de"), [f"12,5{NBSP}€"])
        self.assertEqual(self.texts([12000], "currency:COP", "es-CO"), [f"${NBSP}12.000"])
        self.assertEqual(self.texts([12000], "currency:COP", "en"), [f"COP{NBSP}12,000"])

    def test_options_of_intl_are_understood(self):
        self.assertEqual(self.texts([1.2345], {"maximumFractionDigits": 3}), ["1.234"])
        self.assertEqual(self.texts([1], {"minimumFractionDigits": 2}), ["1.00"])
        self.assertEqual(self.texts([1500], {"notation": "compact"}), ["1.5K"])
        self.assertEqual(self.texts([2], {"style": "currency", "currency": "EUR"}), ["€2"])

    def test_an_unknown_format_is_refused(self):
        for fmt in ("money", "currency", "currency:DOLLAR", "percent:1"):
            with self.assertRaisesRegex(ValueError, "currency:CODE"):
                Numbers([1], fmt)

    def test_what_is_a_number(self):
        for value in (1, 1.5, decimal.Decimal("2.5"), fractions.Fraction(1, 2)):
            self.assertEqual(finite(value), float(value))
        for value in (None, "3", b"3", True, float("nan"), float("inf"), object(), 10 ** 400):
            self.assertIsNone(finite(value))


class Bars(unittest.TestCase):
    def draw(self, *arguments, **options):
        """The chart as a tree, what was told on standard error, and the texts in it."""
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            self.text = svg.bar(*arguments, **options)
        tree = ElementTree.fromstring(self.text)
        self.told = told.getvalue()
        self.texts = [element.text for element in tree.iter(SVG + "text")]
        self.boxes = [{key: float(box.get(key)) for key in ("x", "y", "width", "height")}
                      for box in tree.iter(SVG + "rect")]
        self.assert_inside(tree)
        return tree

    def assert_inside(self, tree):
        x, y, width, height = map(float, tree.get("viewBox").split())
        for box in self.boxes:
            self.assertGreaterEqual(box["x"], x - 0.01)
            self.assertGreaterEqual(box["y"], y - 0.01)
            self.assertLessEqual(box["x"] + box["width"], x + width + 0.01)
            self.assertLessEqual(box["y"] + box["height"], y + height + 0.01)
            self.assertGreaterEqual(box["height"], 0)
        for text in tree.iter(SVG + "text"):
            self.assertLessEqual(float(text.get("y")), height)

    def test_scales_describes_itself_and_needs_nothing(self):
        tree = self.draw(["Q1", "Q2", "Q3"], [12, 18, 9], title="Sales", unit="orders", note="sales.csv")
        self.assertIsNone(tree.get("width"))
        self.assertIsNone(tree.get("height"))
        self.assertEqual(tree.get("role"), "img")
        self.assertEqual(tree.get("fill"), "currentColor")
        title, description = tree.find(SVG + "title"), tree.find(SVG + "desc")
        self.assertEqual(tree.get("aria-labelledby"), f"{title.get('id')} {description.get('id')}")
        self.assertEqual(title.text, "Sales")
        self.assertEqual(description.text, "A bar chart of 3 values. Q1: 12. Q2: 18. Q3: 9.")
        for text in ("Sales", "orders", "Q1", "Q2", "Q3", "12", "18", "9", "0", "20", "sales.csv"):
            self.assertIn(text, self.texts)
        for word in ("http:", "https:", "href", "url(", "<script", " style="):
            self.assertNotIn(word, self.text.replace("http://www.w3.org/2000/svg", ""))

    def test_heights_are_in_proportion_and_begin_at_zero(self):
        self.draw(["a", "b", "c"], [1, 2, 4])
        heights = [box["height"] for box in self.boxes]
        self.assertAlmostEqual(heights[1], 2 * heights[0], 1)
        self.assertAlmostEqual(heights[2], 4 * heights[0], 1)
        bottoms = {round(box["y"] + box["height"], 1) for box in self.boxes}
        self.assertEqual(len(bottoms), 1)

    def test_negative_values_hang_from_zero(self):
        self.draw(["a", "b"], [3, -1])
        up, down = self.boxes
        self.assertAlmostEqual(up["y"] + up["height"], down["y"], 1)
        self.assertIn(MINUS + "1", self.texts)

    def test_all_negative(self):
        self.draw(["a", "b"], [-3, -1])
        self.assertEqual(self.boxes[0]["y"], self.boxes[1]["y"])

    def test_missing_values_keep_their_place_and_are_told(self):
        self.draw(["a", "b", "c", "d"], [1, None, float("nan"), "7"])
        self.assertEqual(len(self.boxes), 1)
        self.assertEqual(self.texts.count("–"), 3)
        self.assertEqual(self.told, "svg.bar: 3 of 4 values are missing or not numbers: b, c, d\n")

    def test_nothing_to_draw_says_so(self):
        for labels, values in (([], []), (["a"], [None])):
            tree = self.draw(labels, values, title="Empty")
            self.assertIn("No data", self.texts)
            self.assertIn("without data", tree.find(SVG + "desc").text)

    def test_zeros_are_drawn_without_a_bar(self):
        self.draw(["a", "b"], [0, 0])
        self.assertEqual([box["height"] for box in self.boxes], [0, 0])
        self.assertEqual(self.texts.count("0"), 3)

    def test_long_labels_lay_the_bars_down(self):
        labels = [f"A rather long name of a category, number {i}" for i in range(12)]
        self.draw(labels, range(1, 13))
        self.assertEqual(len({box["height"] for box in self.boxes}), 1)
        self.assertAlmostEqual(self.boxes[11]["width"], 12 * self.boxes[0]["width"], 0)
        self.assertTrue(all(any(text.startswith(label[:15]) for text in self.texts) for label in labels))
        self.assertNotIn("rotate", self.text)

    def test_lying_bars_with_negatives_share_one_zero(self):
        labels = [f"A rather long name of a category, number {i}" for i in range(6)]
        self.draw(labels, [5, -2, None, 0, 0, 0])
        plus, minus = self.boxes[:2]
        self.assertAlmostEqual(minus["x"] + minus["width"], plus["x"], 1)
        self.assertIn("–", self.texts)

    def test_time_runs_on_and_leaves_out_labels(self):
        days = [f"2024-{month:02d}-{day:02d}" for month in range(1, 7) for day in range(1, 29)]
        self.draw(days, range(len(days)))
        self.assertEqual(len(self.boxes), len(days))
        shown = [text for text in self.texts if text in days]
        self.assertTrue(3 <= len(shown) < 20)
        self.assertEqual(shown, sorted(shown))

    def test_series_stand_side_by_side_with_a_legend(self):
        self.draw(["a", "b"], {"2024": [1, 2], "2025": [3, 4]})
        self.assertEqual(len(self.boxes), 2 + 4)
        self.assertIn("2024", self.texts)
        classes = re.findall(r'class="c(\d)"', self.text)
        self.assertEqual(classes, list("121212"))

    def test_stacks_carry_their_total(self):
        self.draw(["a", "b"], {"x": [1, 2], "y": [3, None], "z": [-2, 1]}, stacked=True)
        self.assertIn("2", self.texts)
        self.assertIn("3", self.texts)
        self.assertIn("x 2, y –, z 1, = 3", self.text)

    def test_labels_are_text_whatever_they_hold(self):
        self.draw(["<script>alert(1)</script>", 'a"b&c', "\x00\ud800"], [1, 2, 3], title="</svg><b>", unit="&amp;")
        self.assertNotIn("<script>", self.text)
        self.assertIn("&amp;amp;", self.text)

    def test_wrong_data_is_refused_with_its_size(self):
        with self.assertRaisesRegex(ValueError, "3 labels, but 2 values"):
            svg.bar(["a", "b", "c"], [1, 2])
        with self.assertRaisesRegex(ValueError, "1 labels, but 2 values of 'x'"):
            svg.bar(["a"], {"x": [1, 2]})
        with self.assertRaisesRegex(ValueError, "9 series.*at most 8"):
            svg.bar(["a"], {str(i): [1] for i in range(9)})

    def test_axis_has_three_to_six_lines_of_round_numbers(self):
        for top in (0.003, 0.7, 1, 1.1, 7, 9.99, 12, 99, 101, 1234, 1e6, 7.3e11):
            for bottom in (0, -top / 3, -top):
                ticks, _ = svg._ticks(bottom, top)
                self.assertTrue(3 <= len(ticks) <= 6, (bottom, top, ticks))
                self.assertTrue(ticks[0] <= bottom and top <= ticks[-1] * (1 + 1e-9), (bottom, top, ticks))
                self.assertIn(0, [round(tick, 12) for tick in ticks])

    def test_the_same_data_gives_the_same_bytes(self):
        again = svg.bar(["a"], [1], title="t")
        self.assertEqual(svg.bar(["a"], [1], title="t"), again)
        self.assertNotEqual(re.search('id="(.*?)t"', again)[1], re.search('id="(.*?)t"', svg.bar(["b"], [1]))[1])

    def test_any_numbers_in_any_mixture_make_a_drawing(self):
        import random
        generator = random.Random(7)
        for _ in range(300):
            n = generator.randint(1, 40)
            labels = ["x" * generator.randint(0, 30) for _ in range(n)]
            scale = 10.0 ** generator.randint(-6, 12)
            values = {f"s{i}": [generator.choice([None, 0, scale * generator.uniform(-1, 1)]) for _ in range(n)]
                      for i in range(generator.randint(1, 4))}
            self.draw(labels, values, stacked=generator.random() < 0.5,
                      fmt=generator.choice(["number", "integer", "percent", "compact", "currency:EUR"]),
                      locale=generator.choice(["en", "es", "es-CO", "de"]))


main()

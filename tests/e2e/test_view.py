#!/usr/bin/env python3
# part: timeout=300 needs=alisio,libexec/alisio/engine
"""Tables on a real terminal: the view and its keys, the bar while a file is read, what inspect draws."""
import glob
import json
import os
import re
import signal
import sys
import time

from alisio_test import ALISIO, Case, main
from terminal import Terminal
import workbook


class Tables(Case):
    def setUp(self):
        super().setUp()
        self.env = {name: value for name, value in self.env.items() if name.startswith("ALISIO_")}
        self.env.update(PATH=os.environ["PATH"], HOME=self.top, TERM="screen", LC_ALL="C.UTF-8")
        self.pid = os.path.join(self.top, "pid")

    def put(self, name, text):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as f:
            f.write(text)

    def terminal(self, *args, columns=80, rows=24, **env):
        # The shell leaves its number, which the program takes over.
        command = ["sh", "-c", f'echo first screen; echo $$ > {self.pid}; exec "$0" "$@"', ALISIO, *args]
        return Terminal(command, self.dir, dict(self.env, **env), columns=columns, rows=rows)

    def sales(self, count=1000):
        rows = "".join(f"{n},2024-{n % 12 + 1:02}-15,{('Norte', 'Sur', 'Este')[n % 3]},{n * 37 % 1000 / 4},\n"
                       for n in range(1, count + 1))
        self.put("sales.csv", "id,day,region,total,note\n" + rows)

    def line(self, screen, text):
        found = [line for line in screen if text in line]
        self.assertTrue(found, "\n".join(screen))
        return found[0]


class View(Tables):
    def test_moves_over_the_rows_and_gives_the_screen_back(self):
        self.sales()
        with self.terminal("data", "view", "sales.csv") as t:
            screen = t.wait_for("row 1 of 1,000")
            self.assertFalse(any("first screen" in line for line in screen))
            self.assertTrue(screen[0].startswith(" sales.csv  1,000 rows, 5 columns"))
            self.assertRegex(screen[2], r"^    row +id +day +region +total +note$")
            t.wait_for("▇▄▇▃▃▇▃▇")  # the histograms come behind the rows
            screen = t.wait_for("2024-02-15")
            self.assertRegex(screen[5], r"^› +1 +1 +2024-02-15  Sur +9\.25  empty$")
            t.keys("Down", "PageDown", "PageDown")
            screen = t.wait_for("row 34 of 1,000")
            self.line(screen, "›    34")
            t.keys("End", "Right")
            screen = t.wait_for("day  date  2024-05-15")
            self.line(screen, "› 1,000")
            t.keys("Home", "Left")
            t.wait_for("row 1 of 1,000")
            t.keys("g", "7", "7", "7", "Enter")
            self.line(t.wait_for("row 777 of 1,000"), "›   777")
            t.keys("Right", "Right", "Enter")
            t.wait_for("row 777   5 characters")
            t.keys("q")
            t.wait_for("row 777 of 1,000")
            t.keys("?")
            t.wait_for("Keys of the table view")
            t.keys("Escape")
            t.wait_for("region  text  Norte")
            t.keys("q")
            self.assertEqual(t.status(), 0)
            screen = [line for line in t.screen() if line]
            self.assertEqual(screen, ["first screen"])

    def test_sorts_and_filters(self):
        self.sales()
        with self.terminal("data", "view", "sales.csv") as t:
            t.wait_for("row 1 of 1,000")
            t.keys("g", "t", "o", "t", "a", "l", "Enter")
            t.wait_for("total  real  9.25")
            t.keys("s")
            t.wait_for("total ↑")
            t.wait_for("total  real  0.0")
            t.wait_for("› 1,000")
            t.keys("s")
            t.wait_for("total ↓")
            t.wait_for("total  real  249.75")
            t.wait_for("›    27")
            t.keys("Left", "f")
            t.wait_for("region =Norte")
            t.keys("Enter")
            screen = t.wait_for("333 rows kept")
            self.line(screen, " region is Norte ")
            t.wait_for("row 1 of 333")
            t.wait_for("›    27")
            t.keys("Right", "f", "C-u", "<", "1", "0", "0", "Enter")
            screen = t.wait_for("region is Norte   total < 100")
            self.line(screen, "111 rows kept")
            t.keys("/", "2", "0", "2", "4", "-", "0", "7", "Enter")
            t.wait_for("day  date  2024-07-15")
            t.keys("F")
            t.wait_for("row 1 of 1,000")
            t.keys("s")
            t.until(lambda: not any("↓" in line for line in t.screen()), "the order of the file")
            t.keys("Right", "f", "C-u", "z", "Enter")
            t.wait_for("The filters leave nothing")
            t.keys("q")
            self.assertEqual(t.status(), 0)

    def test_shows_the_sheets_of_a_workbook(self):
        workbook.write(os.path.join(self.dir, "book.xlsx"), [
            ("Ventas", [["Mes", "Total"]] + [[f"2024-{n:02}-01", n * 1.5] for n in range(1, 13)]),
            ("Año 2", [["n", "s"], [1, "漢字"], [2, None]])])
        with self.terminal("data", "view", "book.xlsx") as t:
            self.line(t.wait_for("row 1 of 12"), "book.xlsx  Ventas (1 of 2)  12 rows, 2 columns")
            t.keys("Down", "Down", "Tab")
            self.line(t.wait_for("漢字"), "›   1  1  漢字")
            self.line(t.wait_for("row 1 of 2"), "Año 2 (2 of 2)")
            t.keys("BTab")
            t.wait_for("row 3 of 12")
        with self.terminal("data", "view", "book.xlsx", "--sheet", "Año 2") as t:
            t.wait_for("Año 2 (2 of 2)")
        self.assertEqual(self.json("data", "view", "book.xlsx", "--sheet", "s_ano_2", "--head")["rows"], [[1, "漢字"], [2, None]])

    def test_finds_texts(self):
        self.sales()
        with self.terminal("data", "view", "sales.csv") as t:
            t.wait_for("row 1 of 1,000")
            t.keys("/", "2", "4", "9", ".", "7", "5", "Enter")
            t.wait_for("total  real  249.75")
            t.keys("n", "n")
            t.wait_for("Found above")
            t.keys("/", "q", "q", "Enter")
            t.wait_for("No cell holds “qq”.")

    def test_follows_the_window(self):
        self.sales()
        with self.terminal("data", "view", "sales.csv") as t:
            t.wait_for("row 1 of 1,000")
            t.resize(40, 12)
            t.until(lambda: len(t.screen()) <= 13 and any("─" * 40 == line for line in t.screen()), "a narrow screen")
            t.wait_for("more column")
            t.resize(140, 40)
            t.until(lambda: any("─" * 140 == line for line in t.screen()), "a wide screen")
            self.line(t.wait_for("row 1 of 1,000"), "row 1 of 1,000")
            t.keys("End")
            t.wait_for("› 1,000")

    def test_nothing_of_a_file_acts(self):
        self.put("evil.csv", 'a,"b\x1b]0;x\x07"\n"\x1b[2J\x1b[1;1Hpwned\r\n","\u202e\u2066\x9b2J"\n"漢字","e\u0301"\n')
        with self.terminal("data", "view", "evil.csv") as t:
            screen = t.wait_for("␛[2J")
            self.line(screen, "␛[2J␛[1;1Hpwned␍␊")
            self.line(screen, "\\u202e\\u2066\\u009b2J")
            self.line(screen, "b␛]0;x␇")
            # Wide characters take two cells: what is behind them stands under its heading.
            wide, head = self.line(screen, "漢字"), screen[2]
            self.assertEqual(wide.index("e\u0301") + 2, head.index("b␛"))
            t.keys("Enter")
            screen = t.wait_for("17 characters")
            self.line(screen, " \\u001b[2J\\u001b[1;1Hpwned\\u000d")

    def test_colours_are_left_out_where_they_are_not_wanted(self):
        self.sales(10)
        for no_color in ("1", ""):
            with self.terminal("data", "view", "sales.csv", NO_COLOR=no_color) as t:
                t.wait_for("row 1 of 10")
                coloured = re.search(r"\x1b\[(1|2|3[0-7])m", t.coloured())
                self.assertEqual(coloured is None, no_color == "1")
                self.assertIn("\x1b[7m", t.coloured())

    def test_without_a_screen_the_first_rows_are_printed(self):
        self.sales(50)
        done = self.alisio("data", "view", "sales.csv")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 11)
        self.assertRegex(lines[0], r"^id  day +region  total +note$")
        self.assertIn("The first 10 of 50 rows", done.stderr)
        self.assertEqual(len(self.alisio("data", "view", "--head", "sales.csv").stdout.splitlines()), 11)
        self.assertEqual(len(self.alisio("data", "view", "sales.csv", "--head", "3").stdout.splitlines()), 4)
        self.assertEqual(len(self.alisio("data", "view", "sales.csv", "--head=2000").stdout.splitlines()), 51)
        head = self.json("data", "view", "sales.csv", "--head", "2")
        self.assertEqual(head["columns"], ["id", "day", "region", "total", "note"])
        self.assertEqual(head["rows"], [[1, "2024-02-15", "Sur", 9.25, None], [2, "2024-03-15", "Este", 18.5, None]])
        self.assertTrue(head["truncated"])
        with self.terminal("data", "view", "sales.csv", TERM="dumb") as t:
            self.assertEqual(t.status(), 0)
            self.assertEqual(t.screen()[0], "first screen")
            self.line(t.screen(), "The first 10 of 50 rows")

    def test_no_row_is_left_out_however_large_they_are(self):
        row = ",".join(["x" * 1100] * 1000) + "\n"  # one answer of the engine takes 64 MiB of them
        self.put("wide.csv", ",".join(f"c{n}" for n in range(1000)) + "\n" + row * 65)
        head = self.json("data", "view", "wide.csv", "--head", "100")
        self.assertEqual(len(head["rows"]), 65)
        self.assertFalse(head["truncated"])

    def test_schema_and_statistics_are_printed(self):
        self.put("a.csv", "Año de venta,x\n2024,a\n2025,b\n")
        text = self.alisio("data", "view", "a.csv", "--schema").stdout
        self.assertRegex(text, r"ano_de_venta +integer +Año de venta\n")
        columns = self.json("data", "view", "a.csv", "--schema")["sheets"][0]["columns"]
        self.assertEqual(columns[0], {"name": "ano_de_venta", "label": "Año de venta", "type": "integer"})
        stats = self.alisio("data", "view", "a.csv", "--stats").stdout
        self.assertRegex(stats, r"ano_de_venta +integer +0 +2 +2024 +2025 +2024\.5")
        self.assertNotIn("First rows", stats)

    def test_what_is_wrong_is_said_before_the_screen_changes(self):
        self.put("a.csv", "x\n1\n")
        for args, code in ((["none.csv"], 1), (["a.csv", "--sheet", "z"], 2), ([], 2), (["a.csv", "--delimiter", "ab"], 2),
                           (["a.csv", "--header", "--no-header"], 2), (["a.csv", "--head", "x"], 2)):
            with self.terminal("data", "view", *args) as t:
                self.assertEqual(t.status(), code)
                self.line(t.screen(), "first screen")
                self.line(t.screen(), "alisio: ")

    def test_every_end_gives_the_terminal_back(self):
        self.sales(10)
        for end in ("C-c", signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
            with self.terminal("data", "view", "sales.csv") as t:
                t.wait_for("row 1 of 10")
                if end == "C-c":
                    t.keys(end)
                else:
                    with open(self.pid, encoding="ascii") as f:
                        os.kill(int(f.read()), end)
                self.assertEqual(t.status(), 134 if end == signal.SIGABRT else 130)
                screen = t.screen()
                self.assertEqual(screen[0], "first screen")
                self.assertFalse(any("row 1 of 10" in line for line in screen))
                t.keys("x", "y")
                t.wait_for("xy")  # it echoes again


class Reading(Tables):
    def big(self):
        # One thread, so that a machine with many is not done before a bar was there.
        os.mkdir(self.env["ALISIO_CONFIG_HOME"])
        with open(os.path.join(self.env["ALISIO_CONFIG_HOME"], "config.json"), "w", encoding="ascii") as f:
            f.write('{"analysis":{"data":{"threads":1}}}')
        block = "".join(f"{n},2024-01-{n % 28 + 1:02},a text of some length {n % 977},{n * 3.25}\n" for n in range(20000))
        with open(os.path.join(self.dir, "big.csv"), "w", encoding="ascii") as f:
            f.write("id,day,text,total\n")
            for _ in range(200):
                f.write(block)

    def test_a_bar_stands_while_a_file_is_read_and_nothing_of_it_stays(self):
        self.big()
        with self.terminal("data", "inspect", "big.csv", columns=110, rows=50) as t:
            line = self.line(t.wait_for("/s"), "Reading big.csv")
            self.assertRegex(line, r"^Reading big\.csv  [█▏▎▍▌▋▊▉ ]{20}  +\d+%  [\d,]+ rows  [\d.]+ MiB/s  [\d.]+ MiB of [\d.]+ MiB$")
            self.assertEqual(t.status(), 0)
            self.assertFalse(any("Reading" in line for line in t.history()))
            self.line(t.screen(), "4,000,000 rows, 4 columns")
        done = self.alisio("data", "inspect", "big.csv", "--skip", "1", "--no-header")
        self.assertEqual(done.stderr, "")

    def test_ctrl_c_ends_the_reading_at_once_and_leaves_nothing(self):
        self.big()
        for args in (("inspect",), ("view",)):
            with self.terminal("data", *args, "big.csv") as t:
                t.wait_for("Reading big.csv")
                began = time.monotonic()
                t.keys("C-c")
                self.assertEqual(t.status(), 130)
                self.assertLess(time.monotonic() - began, 1)
                self.assertFalse(any("Reading" in line or "%" in line for line in t.screen()))
                self.line(t.screen(), "interrupted")
            found = glob.glob(os.path.join(self.env["ALISIO_STATE_HOME"], "analysis", "datasets", "**"), recursive=True)
            self.assertEqual([p for p in found if os.path.isfile(p)], [])


class Inspect(Tables):
    def test_draws_on_a_terminal_and_nowhere_else(self):
        self.sales()
        with self.terminal("data", "inspect", "sales.csv", columns=80, rows=40) as t:
            self.assertEqual(t.status(), 0)
            screen = t.screen()
            self.assertRegex(self.line(screen, "distinct"), r"^  column +type +empty +distinct +spread +from – to")
            self.assertRegex(self.line(screen, "  total "), r"real +0 +1,000 +[▁▂▃▄▅▆▇]{12} +0\.0 – 249\.75")
            self.assertRegex(self.line(screen, "region  "), r"text +0 +3  ▇▇▇ +Este – Sur")
            self.assertRegex(self.line(screen, "Norte  "), r"█[▏▎▍▌▋▊▉]? +333 +33\.3%$")
            self.line(screen, "All figures are exact.")
            self.assertTrue(all(len(line) <= 80 for line in screen))
        done = self.alisio("data", "inspect", "sales.csv")
        self.assertFalse(re.search("[█▁─\x1b]", done.stdout))
        self.assertIn("most frequent", done.stdout)

    def test_wide_rows_are_counted_on_a_terminal_and_whole_on_a_pipe(self):
        self.put("wide.csv", ",".join(f"column_{n}" for n in range(30)) + "\n" + ",".join(str(n) * 9 for n in range(30)) + "\n")
        for args in (["query", "wide.csv", "SELECT * FROM data"], ["view", "--head", "wide.csv"]):
            with self.terminal("data", *args) as t:
                self.assertEqual(t.status(), 0)
                self.assertTrue(all(len(line) <= 80 for line in t.screen()))
                self.assertRegex(self.line(t.screen(), "column_0"), r"column_4 +25 more columns →$")
            self.assertIn("column_29", self.alisio("data", *args).stdout)

    def test_the_whole_width_is_used_and_none_is_needed(self):
        self.put("long.csv", "".join(f"a heading that is long number {n}," for n in range(8)) + "z\n"
                 + "\n".join(",".join(str(n * k) for n in range(9)) for k in range(50)))
        for columns in (40, 60, 80, 140):
            with self.terminal("data", "inspect", "long.csv", columns=columns, rows=60) as t:
                self.assertEqual(t.status(), 0)
                rows = [line.split() for line in t.screen() if re.match(r"  (a_h\S*\d|z) +.* 0 +(1|50)\b", line)]
                self.assertEqual(len(set(row[0] for row in rows)), 9, "\n".join(t.screen()))


if __name__ == "__main__":
    main()

"""Writes XLSX workbooks: the few parts that make one, in the form that XlsxWriter and Excel give them."""
import re
import zipfile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


def escape(text, attribute=False):
    """Text as it stands in XML; in an attribute white space is escaped, too."""
    return re.sub('[&<>"\r\n\t]' if attribute else "[&<>\r]", lambda m: ESCAPES[m[0]], text)


def letters(column):
    """A for 0."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def text_element(text):
    """<t> keeps white space at its ends only when told."""
    return f'<t{" xml:space=" + chr(34) + "preserve" + chr(34) if text != text.strip() else ""}>{escape(text)}</t>'


class Strings:
    """The table of shared strings."""

    def __init__(self):
        self.numbers, self.uses = {}, 0

    def number(self, text):
        self.uses += 1
        return self.numbers.setdefault(text, len(self.numbers))

    def part(self):
        items = "".join(f"<si>{text_element(text)}</si>" for text in self.numbers)
        return f'{HEAD}<sst xmlns="{MAIN}" count="{self.uses}" uniqueCount="{len(self.numbers)}">{items}</sst>'


def sheet_part(rows, strings):
    """A worksheet; cells are None, bool, int, float or str."""
    out, names = [], []
    for number, row in enumerate(rows, 1):
        while len(names) < len(row):
            names.append(letters(len(names)))
        cells = []
        for name, value in zip(names, row):
            if isinstance(value, str):
                cells.append(f'<c r="{name}{number}" t="s"><v>{strings.number(value)}</v></c>')
            elif isinstance(value, bool):
                cells.append(f'<c r="{name}{number}" t="b"><v>{value:d}</v></c>')
            elif value is not None:
                cells.append(f'<c r="{name}{number}"><v>{value!r}</v></c>')
        out.append(f'<row r="{number}" spans="1:{len(row)}">{"".join(cells)}</row>')
    return (f'{HEAD}<worksheet xmlns="{MAIN}" xmlns:r="{RELATIONS}"><dimension ref="A1:{letters(max(0, len(names) - 1))}{len(out)}"/>'
            f'<sheetData>{"".join(out)}</sheetData></worksheet>')


def relations(entries):
    items = "".join(f'<Relationship Id="{key}" Type="{kind}" Target="{target}"/>' for key, kind, target in entries)
    return f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{items}</Relationships>'


def write(path, sheets):
    """sheets: (name, rows) of each."""
    strings, numbers = Strings(), range(1, len(sheets) + 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        def put(name, text):
            out.writestr(zipfile.ZipInfo(name, (1980, 1, 31, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)

        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml."
        overrides = [("xl/workbook.xml", "sheet.main"), ("xl/sharedStrings.xml", "sharedStrings"),
                     *((f"xl/worksheets/sheet{n}.xml", "worksheet") for n in numbers)]
        put("[Content_Types].xml", f'{HEAD}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            + "".join(f'<Override PartName="/{name}" ContentType="{kind}{part}+xml"/>' for name, part in overrides) + "</Types>")
        put("_rels/.rels", relations([("rId1", RELATIONS + "/officeDocument", "xl/workbook.xml")]))
        put("xl/workbook.xml", f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>' + "".join(
            f'<sheet name="{escape(name, True)}" sheetId="{n}" r:id="rId{n}"/>' for n, (name, _) in zip(numbers, sheets)) + "</sheets></workbook>")
        put("xl/_rels/workbook.xml.rels", relations(
            [(f"rId{n}", RELATIONS + "/worksheet", f"worksheets/sheet{n}.xml") for n in numbers]
            + [(f"rId{len(sheets) + 1}", RELATIONS + "/sharedStrings", "sharedStrings.xml")]))
        for n, (_, rows) in zip(numbers, sheets):
            put(f"xl/worksheets/sheet{n}.xml", sheet_part(rows, strings))
        put("xl/sharedStrings.xml", strings.part())

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


def spelled(text):
    """Characters that XML cannot hold as _xHHHH_, and what looks like that, too."""
    text = re.sub("_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)
    return re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", lambda m: f"_x{ord(m[0]):04X}_", text)


class Days(float):
    """A date or time: days since the beginning of the calendar, with a format of FORMATS (1, 2, …)."""

    def __new__(cls, days, style):
        made = super().__new__(cls, days)
        made.style = style
        return made


FORMATS = ["General", "yyyy\\-mm\\-dd", "yyyy\\-mm\\-dd\\ hh:mm:ss", "[h]:mm:ss"]


class Plain:
    """How a workbook is written: the way of XlsxWriter."""

    references = True      # cells and rows say where they are
    from_1904 = False
    prefix = ""            # of the namespace
    namespace = MAIN
    relations = RELATIONS
    compression = zipfile.ZIP_DEFLATED

    def string(self):      # where the next string goes: s, inlineStr, str (the value of a formula)
        return "s"

    def runs(self, text):  # the pieces of a rich string, or one
        return [text]

    def empty(self):       # whether the next cell without a value is there all the same, with a style
        return False


class Strings:
    """The table of shared strings."""

    def __init__(self, ways):
        self.numbers, self.uses, self.ways = {}, 0, ways

    def number(self, text):
        self.uses += 1
        return self.numbers.setdefault(text, len(self.numbers))

    def item(self, text):
        runs = self.ways.runs(text)
        if len(runs) == 1:
            return text_element(spelled(text))
        return "".join(f"<r><rPr><b/></rPr>{text_element(run)}</r>" for run in runs) + "<rPh sb=\"0\" eb=\"1\"><t>カ</t></rPh>"

    def part(self):
        items = "".join([f"<si>{self.item(text)}</si>" for text in self.numbers])
        return f'{HEAD}<sst xmlns="{MAIN}" count="{self.uses}" uniqueCount="{len(self.numbers)}">{items}</sst>'


def string_cell(at, text, strings, ways):
    way = ways.string()
    if way == "s":
        return f'<c{at} t="s"><v>{strings.number(text)}</v></c>'
    if way == "str":
        return f'<c{at} t="str"><f>"x"</f><v>{escape(spelled(text))}</v></c>'
    return f'<c{at} t="inlineStr"><is>{strings.item(text)}</is></c>'


def cell(at, value, strings, ways):
    if isinstance(value, str):
        return string_cell(at, value, strings, ways)
    if isinstance(value, bool):
        return f'<c{at} t="b"><v>{value:d}</v></c>'
    if isinstance(value, Days):
        return f'<c{at} s="{value.style}"><v>{float(value)!r}</v></c>'
    if value is not None:
        return f"<c{at}><v>{value!r}</v></c>"
    return f'<c{at} s="1"/>' if not at or ways.empty() else ""


def sheet_part(rows, strings, ways):
    """A worksheet; cells are None, bool, int, float, Days or str."""
    out, names = [], []
    for number, row in enumerate(rows, 1):
        while len(names) < len(row):
            names.append(letters(len(names)))
        if ways.references:
            cells = [cell(f' r="{name}{number}"', value, strings, ways) for name, value in zip(names, row)]
            out.append(f'<row r="{number}" spans="1:{len(row)}">{"".join(cells)}</row>')
        else:
            out.append(f'<row>{"".join([cell("", value, strings, ways) for value in row])}</row>')
    return (f'{HEAD}<worksheet xmlns="{MAIN}" xmlns:r="{RELATIONS}"><dimension ref="A1:{letters(max(0, len(names) - 1))}{len(out)}"/>'
            f'<sheetData>{"".join(out)}</sheetData></worksheet>')


def styles_part():
    codes = "".join(f'<numFmt numFmtId="{163 + i}" formatCode="{escape(code, True)}"/>' for i, code in enumerate(FORMATS) if i)
    cells = "".join(f'<xf numFmtId="{163 + i if i else 0}" fontId="0" fillId="0" borderId="0" xfId="0"/>' for i in range(len(FORMATS)))
    return (f'{HEAD}<styleSheet xmlns="{MAIN}"><numFmts count="{len(FORMATS) - 1}">{codes}</numFmts>'
            f'<cellXfs count="{len(FORMATS)}">{cells}</cellXfs></styleSheet>')


def relations(entries):
    items = "".join(f'<Relationship Id="{key}" Type="{kind}" Target="{target}"/>' for key, kind, target in entries)
    return f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{items}</Relationships>'


def write(path, sheets, ways=Plain()):
    """sheets: (name, rows) of each. path: a file, open or named."""
    strings, numbers = Strings(ways), range(1, len(sheets) + 1)
    with zipfile.ZipFile(path, "w") as out:
        def put(name, text):
            if ways.prefix and f'xmlns="{MAIN}"' in text:
                text = re.sub("<(/?)(?=[A-Za-z])", rf"<\1{ways.prefix}:", text).replace(f'xmlns="{MAIN}"', f'xmlns:{ways.prefix}="{MAIN}"')
            text = text.replace(f'="{MAIN}"', f'="{ways.namespace}"').replace(f'"{RELATIONS}', f'"{ways.relations}')
            out.writestr(zipfile.ZipInfo(name, (1980, 1, 31, 0, 0, 0)), text, ways.compression)

        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml."
        overrides = [("xl/workbook.xml", "sheet.main"), ("xl/sharedStrings.xml", "sharedStrings"), ("xl/styles.xml", "styles"),
                     *((f"xl/worksheets/sheet{n}.xml", "worksheet") for n in numbers)]
        put("[Content_Types].xml", f'{HEAD}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            + "".join(f'<Override PartName="/{name}" ContentType="{kind}{part}+xml"/>' for name, part in overrides) + "</Types>")
        put("_rels/.rels", relations([("rId1", RELATIONS + "/officeDocument", "xl/workbook.xml")]))
        put("xl/workbook.xml", f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><workbookPr date1904="{ways.from_1904:d}"/><sheets>' + "".join(
            f'<sheet name="{escape(name, True)}" sheetId="{n}" r:id="rId{n}"/>' for n, (name, _) in zip(numbers, sheets)) + "</sheets></workbook>")
        put("xl/_rels/workbook.xml.rels", relations(
            [(f"rId{n}", RELATIONS + "/worksheet", f"worksheets/sheet{n}.xml") for n in numbers]
            + [(f"rId{len(sheets) + i}", f"{RELATIONS}/{part}", f"{part}.xml") for i, part in enumerate(("sharedStrings", "styles"), 1)]))
        put("xl/styles.xml", styles_part())
        for n, (_, rows) in zip(numbers, sheets):
            put(f"xl/worksheets/sheet{n}.xml", sheet_part(rows, strings, ways))
        put("xl/sharedStrings.xml", strings.part())


def write_ods(path, sheets):
    """The same as an OpenDocument spreadsheet; cells are None, bool, int, float or str."""
    space = "urn:oasis:names:tc:opendocument:xmlns:"

    def ods_cell(value):
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
        kind, name = ("boolean", "boolean-value") if isinstance(value, bool) else ("float", "value")
        return f'<table:table-cell office:value-type="{kind}" office:{name}="{str(value).lower()}"/>'

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(zipfile.ZipInfo("mimetype", (1980, 1, 31, 0, 0, 0)), "application/vnd.oasis.opendocument.spreadsheet")
        tables = "".join(f'<table:table table:name="{escape(name, True)}">' + "".join(
            [f'<table:table-row>{"".join(map(ods_cell, row))}</table:table-row>' for row in rows]) + "</table:table>" for name, rows in sheets)
        out.writestr("content.xml", f'{HEAD}<office:document-content xmlns:office="{space}office:1.0" xmlns:table="{space}table:1.0" '
                     f'xmlns:text="{space}text:1.0" office:version="1.2"><office:body><office:spreadsheet>{tables}'
                     "</office:spreadsheet></office:body></office:document-content>", zipfile.ZIP_DEFLATED)

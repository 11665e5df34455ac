#!/usr/bin/env python3
"""Writes one table with the libraries that people write workbooks with, and as the CSV it should be
exported to: workbook_writers.py openpyxl|xlsxwriter|csv OUT. It runs in whatever Python has them.

The second sheet is hidden, the third empty. Numbers have no more digits than every library keeps (15)."""
import csv
import datetime
import random
import sys

HEAD = ["ID", "Name", "Amount", "Ratio", "Flag", "Day", "Moment", "Clock", "Span", "Code", "Digits", "Sum", "Large", "Note", "Año de venta"]
NAMES = ["José Núñez", "O'Brien, \"Pat\"", "two\nlines", "  padded  ", "東京都", "a & b <c>", "\U0001f600", "=1+1", "_x0041_", "tab\there", "N/A", ""]
FORMATS = {"Day": "yyyy-mm-dd", "Moment": "yyyy-mm-dd hh:mm:ss", "Clock": "hh:mm:ss", "Span": "[h]:mm:ss"}


def rows(count):
    chance = random.Random(7)
    for i in range(1, count + 1):
        day = datetime.date(1999, 12, 25) + datetime.timedelta(days=chance.randrange(12000))
        clock = datetime.time(chance.randrange(24), chance.randrange(60), chance.randrange(60))
        yield {
            "ID": i,
            "Name": chance.choice(NAMES) or None,
            "Amount": chance.randrange(-10000000, 10000000) / 100,
            "Ratio": chance.choice([0.1, 33.3, 1.1, 2.5e-9, 1e21, 123456789.125, 0.00012345, 1.0]),
            "Flag": chance.random() < 0.5 if i % 7 else None,
            "Day": day,
            "Moment": datetime.datetime.combine(day, clock) + datetime.timedelta(milliseconds=250 * (i % 3 == 0)),
            "Clock": clock,
            "Span": datetime.timedelta(seconds=chance.randrange(1, 400000)),
            "Code": format(i * 37 % 1000, "03d"),
            "Digits": str(chance.randrange(100)),
            "Sum": i * 2,
            "Large": chance.choice([10**15 - 1, -10**15 + 1, 10**14, 7]),
            "Note": chance.choice(NAMES) or None if i > 20 else None,
            "Año de venta": 2000 + i % 25,
        }


def exported(value):
    """The text of a value in the CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return repr(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime.timedelta):
        s = round(value.total_seconds())
        return f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)


def write_csv(path, table):
    with open(path, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow(HEAD)
        out.writerows([exported(row[name]) for name in HEAD] for row in table)


def write_openpyxl(path, table):
    import openpyxl
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sales"
    sheet.append(HEAD)
    for number, row in enumerate(table, 2):
        for column, name in enumerate(HEAD, 1):
            cell = sheet.cell(number, column)
            if isinstance(row[name], str):
                cell.value = row[name].replace("_x0041_", "_x005F_x0041_")  # it leaves that to its user
                cell.data_type = "s"
            else:
                cell.value = row[name]
            if name in FORMATS:
                cell.number_format = FORMATS[name]
    hidden = book.create_sheet("Hidden")
    hidden.append(["only", 1])
    hidden.sheet_state = "hidden"
    book.create_sheet("Empty")
    book.save(path)


def write_xlsxwriter(path, table):
    import xlsxwriter
    book = xlsxwriter.Workbook(path)
    formats = {name: book.add_format({"num_format": code}) for name, code in FORMATS.items()}
    sheet = book.add_worksheet("Sales")
    sheet.write_row(0, 0, HEAD)
    for number, row in enumerate(table, 1):
        for column, name in enumerate(HEAD):
            value = row[name]
            if name == "Sum":
                sheet.write_formula(number, column, f"=A{number + 1}*2", None, value)
            elif name in FORMATS:
                sheet.write_datetime(number, column, value, formats[name])
            elif isinstance(value, str):
                sheet.write_string(number, column, value)
            elif value is not None:
                sheet.write(number, column, value)
    hidden = book.add_worksheet("Hidden")
    hidden.write_row(0, 0, ["only", 1])
    hidden.hide()
    book.add_worksheet("Empty")
    book.close()


if __name__ == "__main__":
    {"csv": write_csv, "openpyxl": write_openpyxl, "xlsxwriter": write_xlsxwriter}[sys.argv[1]](sys.argv[2], rows(1500))

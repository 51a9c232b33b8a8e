"""Writes results into docs/conformance.md."""

import re
from pathlib import Path


def append_row(file, row):
    """Appends a row to the table at the end of the file."""
    with Path(file).open("a", encoding="utf-8") as stream:
        stream.write("| " + " | ".join(map(str, row)) + " |\n")


def replace_table(file, name, lines):
    """Puts the lines between <!-- name --> and <!-- end of name -->."""
    text = Path(file).read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    pattern = re.compile(f"({begin}).*?({end})", re.DOTALL)
    inner = "\n".join(lines) + "\n"
    text, count = pattern.subn(lambda found: found[1] + inner + found[2], text)
    if count != 1:
        raise SystemExit(f"{file}: there must be one place for the table of {name}")
    Path(file).write_text(text, encoding="utf-8")

"""What docs say of tests holds."""

import re

from support import ROOT

TESTS = {
    f"{suite}.{name}"
    for path in (ROOT / "tests").rglob("*_test.cc")
    for suite, name in re.findall(r"^TEST(?:_F)?\((\w+), (\w+)\)", path.read_text(), re.MULTILINE)
}


def test_each_difference_names_its_test():
    rows = [
        line
        for line in (ROOT / "docs/differences.md").read_text().splitlines()
        if line.startswith("| ") and not line.endswith("| test |")
    ]
    assert len(rows) >= 30
    for row in rows:
        names = re.findall(r"`(\w+\.[\w*]+)`", row.rsplit(" | ", 1)[1])
        assert names, row
        for name in names:
            known = [t for t in TESTS if t == name or (name[-1] == "*" and t.startswith(name[:-1]))]
            assert known, f"{name} of {row}"

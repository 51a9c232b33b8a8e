#!/usr/bin/env python3
"""Compares what callgrind has counted with what is recorded; scripts/instructions.sh calls it."""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

TOLERANCE = 0.10


def counted(out: Path) -> int:
    """Return the instructions of one run from callgrind's file."""
    found = re.search(r"^totals: (\d+)", out.read_text(), re.MULTILINE)
    if not found or int(found[1]) == 0:
        raise SystemExit(f"{out}: no instructions were counted")
    return int(found[1])


def same_kind(compiler: str, recorded: str) -> bool:
    """Return whether two compilers ("GCC 12.2 x86_64") make code that can be compared."""
    name, version, machine = compiler.split()
    other_name, other_version, other_machine = recorded.split()
    major, other_major = version.split(".")[0], other_version.split(".")[0]
    return (name, major, machine) == (other_name, other_major, other_machine)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="the folder of NAME.out files")
    parser.add_argument("record", type=Path, help="the file of recorded counts")
    parser.add_argument("--compiler", required=True, help="what compiled, e.g. 'GCC 12.2 x86_64'")
    parser.add_argument("--items", required=True, help="lines: a scenario and its number of items")
    parser.add_argument("--update", action="store_true", help="write the record")
    options = parser.parse_args()

    counts: dict[str, int] = {}
    for line in options.items.splitlines():
        name, items = line.split()
        counts[name] = round(counted(options.work / f"{name}.out") / int(items))

    record: dict[str, Any] = {"compiler": options.compiler, "instructions": {}}
    if options.record.exists():
        record = json.loads(options.record.read_text())
    recorded: dict[str, int] = record["instructions"]

    failed: list[str] = []
    better = False
    print(f"{'scenario':<20} {'instructions':>13} {'recorded':>13} {'ratio':>6}")
    for name, count in counts.items():
        if name not in recorded:
            print(f"{name:<20} {count:>13,} {'-':>13} {'-':>6}")
            failed.append(f"{name} is not recorded")
            continue
        ratio = count / recorded[name]
        verdict = ""
        if ratio > 1 + TOLERANCE:
            verdict = "  more"
            failed.append(f"{name} takes {ratio:.2f} times the recorded instructions")
        elif ratio < 1 - TOLERANCE:
            verdict = "  less"
            better = True
        print(f"{name:<20} {count:>13,} {recorded[name]:>13,} {ratio:>6.3f}{verdict}")
    failed += [f"{name} is recorded, but is no scenario" for name in recorded.keys() - counts]

    if options.update:
        record = {"compiler": options.compiler, "instructions": counts}
        options.record.write_text(json.dumps(record, indent=2) + "\n")
        print(f"{options.record} is updated")
        failed = []
    elif not same_kind(options.compiler, record["compiler"]):
        print(f"compiled by {options.compiler}, recorded with {record['compiler']}: only a warning")
        for message in failed:
            print(f"warning: {message}")
        failed = []
    else:
        for message in failed:
            print(f"failed: {message}")
        if failed:
            print("if that is meant to be: scripts/instructions.sh --update, and say why")
        elif better:
            print("some take less than is recorded: time for scripts/instructions.sh --update")
    bad = min(len(failed), len(counts))
    print(f"instructions: {len(counts) - bad} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

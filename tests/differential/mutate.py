"""Checks that the differential test finds faults: each declared one is put in and must be found.

A copy of the sources holds many faults at once, behind a switch that an environment variable sets,
so that the program is compiled only once. Faults that overlap go into further copies.
"""

import hashlib
import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

from . import answer, compare, generate, log
from .faults import FAULTS

COPIED = (
    "include",
    "src",
    "cmake",
    "benchmarks",
    "tests/differential",
    "tests/support",
    "CMakeLists.txt",
)
SWITCH = """\
#include <cstdlib>
namespace schedfw_fault {
inline const char* const kText = std::getenv("SCHEDFW_FAULT");
inline const int kChosen = kText == nullptr ? 0 : std::atoi(kText);
}
"""
HEAD = "|---|---:|---:|"
TIMEOUT = 600  # seconds; a fault may make the program hang
SHARDS = 16  # parts of the cases; most faults show in the first ones


def span(fault, text):
    """Finds the part of the file that the fault stands for: its start and end."""
    whole = fault.text.replace("⟦", "").replace("⟧", "")
    if fault.text.count("⟦") != 1 or fault.text.count("⟧") != 1:
        raise SystemExit(f"{fault.name}: the text needs one ⟦ and one ⟧")
    if text.count(whole) != 1:
        raise SystemExit(
            f"{fault.name}: the text must be in {fault.file} once, not {text.count(whole)} times"
        )
    start = text.index(whole) + fault.text.index("⟦")
    return start, start + fault.text.index("⟧") - fault.text.index("⟦") - 1


def rounds(root, faults):
    """Distributes the faults over copies, so that none of a copy overlap: lists of numbers."""
    out = []
    for number, fault in enumerate(faults):
        here = (fault.file, *span(fault, (root / fault.file).read_text(encoding="utf-8")))
        for spans in out:
            if all(here[0] != f or here[2] <= s or here[1] >= e for f, s, e in spans.values()):
                spans[number] = here
                break
        else:
            out.append({number: here})
    return [list(spans) for spans in out]


def switched(fault, number, original):
    """The text that is wrong if the fault of that number is chosen, and right otherwise."""
    chosen = f"schedfw_fault::kChosen == {number + 1}"
    if original.rstrip().endswith(";"):
        return f"if ({chosen}) {{ {fault.replacement} }} else {{ {original} }}"
    return f"({chosen} ? ({fault.replacement}) : ({original}))"


def put_in(tree, root, numbers):
    """Copies the sources and puts the faults in."""
    for name in COPIED:
        source, target = root / name, tree / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
    shutil.copy2(root / "tests/CMakeLists.txt", tree / "tests/CMakeLists.txt")
    (tree / "fault.h").write_text(SWITCH, encoding="utf-8")
    for file in sorted({FAULTS[n].file for n in numbers}):
        text = (root / file).read_text(encoding="utf-8")
        here = sorted((span(FAULTS[n], text), n) for n in numbers if FAULTS[n].file == file)
        for (start, end), number in reversed(here):
            text = text[:start] + switched(FAULTS[number], number, text[start:end]) + text[end:]
        (tree / file).write_text(text, encoding="utf-8")


def build(tree):
    """Compiles the program that answers; returns its path."""
    flags = f"-O1 -DNDEBUG -include {tree / 'fault.h'}"
    configure = ["cmake", "-S", tree, "-B", tree / "build", "-G", "Ninja"]
    configure += ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE={flags}"]
    compile_it = ["nice", "cmake", "--build", tree / "build", "--target", "schedfw_answers"]
    for command in (configure, compile_it):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"a fault doesn't compile:\n{done.stdout}{done.stderr}")
    return tree / "build" / "tests" / "schedfw_answers"


def cached_cases(options, sides, work):
    """Makes cases and the real scheduler's answers, unless they are there already."""
    cases = list(generate.cases(options.pods, options.seed, options.kinds))
    state = hashlib.sha256(f"{options.pods} {options.seed} {options.kinds}".encode())
    for file in (*sorted(Path(__file__).parent.glob("*.py")), Path(sides.oracle)):
        if file.name not in ("faults.py", "mutate.py"):
            state.update(file.read_bytes())
    stamp = work / "stamp"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != state.hexdigest():
        stamp.unlink(missing_ok=True)
        answer.write_cases(cases, work / "cases")
        sides.run("want", work / "cases", answer.fresh(work / "want"), 200)
        stamp.write_text(state.hexdigest(), encoding="utf-8")
    return cases


def different(cases, work, got):
    """Yields the names of the cases whose answers differ."""
    for case in cases:
        name = case["name"]
        want = answer.read(work / "want", name)
        if compare.differences(case["mode"], want, answer.read(got, name)):
            yield name


def answers(program, cases, out, number, shards):
    """Has the program answer with a fault; returns what went wrong, or ""."""
    environment = {**os.environ, "SCHEDFW_FAULT": str(number)}
    parts = []
    for shard in shards:
        command = ["nice", program, cases, out, f"{shard}/{SHARDS}"]
        parts.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
    failure = ""
    for part in parts:
        try:
            if part.wait(TIMEOUT) != 0:
                failure = f"exit {part.returncode}"
        except subprocess.TimeoutExpired:
            part.kill()
            part.wait()
            failure = "timeout"
    return failure


def find(program, number, cases, work):
    """Yields how a fault is found; a part of the cases is answered after the other."""
    got = answer.fresh(work / "got")
    for first in range(0, SHARDS, answer.PROCESSES):
        shards = range(first, min(SHARDS, first + answer.PROCESSES))
        some = [case for i, case in enumerate(cases) if i % SHARDS in shards]
        how = answers(program, work / "cases", got, number, shards)
        if how:
            yield how
            return
        yield from different(some, work, got)


def run_round(numbers, tree, cases, work, root):
    """Tries the faults of one copy; yields (number, how it was found, or "")."""
    put_in(tree, root, numbers)
    program = build(tree)
    # Ties that show too seldom for the real scheduler's answers to hold them.
    known = set(find(program, 0, cases, work))
    if known:
        print(f"differ without a fault, not counted: {', '.join(sorted(known))}", flush=True)
    for number in numbers:
        yield (
            number,
            next((h for h in find(program, number + 1, cases, work) if h not in known), ""),
        )


def main(options, sides):
    """Prints the table of faults; returns the exit status."""
    root = Path.cwd()
    work = Path(options.work).absolute()
    work.mkdir(parents=True, exist_ok=True)
    cases = sorted(cached_cases(options, sides, work), key=lambda case: case["name"])
    counts = defaultdict(lambda: [0, 0])  # by plugin: all faults, and those that were found
    for turn, numbers in enumerate(rounds(root, FAULTS)):
        tree = work / f"tree{turn}"
        (tree / "tests").mkdir(parents=True, exist_ok=True)
        chosen = [n for n in numbers if not options.only or options.only in FAULTS[n].name]
        if not chosen:
            continue
        for number, how in run_round(chosen, tree, cases, work, root):
            count = counts[FAULTS[number].name.split(":")[0]]
            count[0] += 1
            count[1] += how != ""
            print(f"{FAULTS[number].name:<58} {how or 'MISSED'}", flush=True)
    if options.log:
        rows = [f"| {name} | {all_of} | {found} |" for name, (all_of, found) in counts.items()]
        log.replace_table(options.log, "faults", ["| rules of | faults | found |", HEAD, *rows])
    number, found = (sum(column) for column in zip(*counts.values(), strict=True))
    print(f"{found} found, {number - found} missed")
    return 1 if found < number else 0

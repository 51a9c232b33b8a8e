"""What scripts/instructions.sh makes of its counts; and that docs name all benchmarks."""

import json
import re
import subprocess
import sys

import pytest

from support import ROOT

COMPARE = ROOT / "benchmarks/compare_instructions.py"
COMPILER = "GCC 12.2 x86_64"


@pytest.fixture
def compare(tmp_path):
    """Compare counts, by scenario, with recorded ones; return the exit code and the output."""

    def run(counts, recorded, *options, compiler=COMPILER, recorded_by=COMPILER):
        for name, count in counts.items():
            (tmp_path / f"{name}.out").write_text(f"summary: 0\n\ntotals: {count * 10}\n")
        record = tmp_path / "record.json"
        record.write_text(json.dumps({"compiler": recorded_by, "instructions": recorded}))
        items = "\n".join(f"{name} 10" for name in counts)
        command = [sys.executable, COMPARE, tmp_path, record]
        command += ["--compiler", compiler, "--items", items, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, json.loads(record.read_text())

    return run


def test_as_recorded(compare):
    code, output, _ = compare({"a": 1099, "b": 901}, {"a": 1000, "b": 1000})
    assert code == 0
    assert output.endswith("instructions: 2 passed, 0 failed\n")
    assert "--update" not in output


def test_more_fails(compare):
    code, output, _ = compare({"a": 1101, "b": 1000}, {"a": 1000, "b": 1000})
    assert code == 1
    assert "failed: a takes 1.10 times the recorded instructions" in output
    assert output.endswith("instructions: 1 passed, 1 failed\n")


def test_less_is_time_to_update(compare):
    code, output, _ = compare({"a": 899}, {"a": 1000})
    assert code == 0
    assert "time for scripts/instructions.sh --update" in output


@pytest.mark.parametrize("compiler", ["GCC 13.1 x86_64", "Clang 12.2 x86_64", "GCC 12.2 aarch64"])
def test_another_compiler_only_warns(compare, compiler):
    code, output, _ = compare({"a": 2000}, {"a": 1000}, compiler=compiler)
    assert code == 0
    assert f"compiled by {compiler}, recorded with {COMPILER}: only a warning" in output
    assert "warning: a takes 2.00 times the recorded instructions" in output


def test_another_minor_version_fails(compare):
    assert compare({"a": 2000}, {"a": 1000}, compiler="GCC 12.3 x86_64")[0] == 1


def test_scenarios_and_record_must_agree(compare):
    code, output, _ = compare({"new": 1000}, {"gone": 1000})
    assert code == 1
    assert "failed: new is not recorded" in output
    assert "failed: gone is recorded, but is no scenario" in output


def test_update(compare):
    code, output, record = compare({"a": 2000, "new": 5}, {"a": 1000, "gone": 7}, "--update")
    assert code == 0, output
    assert record == {"compiler": COMPILER, "instructions": {"a": 2000, "new": 5}}


def test_nothing_counted(compare):
    code, output, _ = compare({"a": 0}, {"a": 1000})
    assert code == 1
    assert "no instructions were counted" in output


def test_all_scenarios_are_recorded_and_documented():
    source = (ROOT / "benchmarks/instructions.cc").read_text()
    names = set(re.findall(r'^    \{"(\w+)",', source, re.MULTILINE))
    record = json.loads((ROOT / "benchmarks/instructions.json").read_text())
    assert names == set(record["instructions"])
    documented = (ROOT / "docs/performance.md").read_text().split("## Instruction counts")[1]
    assert names <= set(re.findall(r"^\| `(\w+)` \|", documented, re.MULTILINE))


def test_all_benchmarks_are_documented():
    documented = set(re.findall(r"^\| `(BM_\w+)", (ROOT / "docs/performance.md").read_text(), re.M))
    names = set()
    for source in (ROOT / "benchmarks").glob("*_benchmark.cc"):
        names |= set(re.findall(r"^BENCHMARK\w*\((BM_\w+)", source.read_text(), re.MULTILINE))
    assert names == documented

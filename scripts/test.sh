#!/usr/bin/env bash
# Builds everything and runs all checks.
set -euo pipefail

parts=(build format tidy ruff ruff-format mypy ctest pytest instructions install)

usage() {
  cat <<HELP
usage: scripts/test.sh [-h] [PART...]

Runs the named parts, or all: ${parts[*]}.
A failing part does not stop the others. The last line is \`N passed, N failed\`: the C++, Python and
installation tests, the scenarios whose instructions are counted, and one for each other part. Logs
are in build/logs.

environment:
  SCHEDFW_TIDY   "core" (the default): clang-tidy on src, python/bindings and all public headers;
                 "all": also on tests, benchmarks and examples
HELP
}

if (($#)); then
  chosen=("$@")
else
  chosen=("${parts[@]}")
fi
for part in "${chosen[@]}"; do
  case "$part" in
    -h | --help)
      usage
      exit 0
      ;;
  esac
  [[ " ${parts[*]} " == *" $part "* ]] || {
    usage >&2
    exit 2
  }
done

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
if ! schedfw_setup; then
  echo "0 passed, 1 failed"
  exit 1
fi
cd "$root"
logs="$root/build/logs"
mkdir -p "$logs"

# The project's C++ files with the endings given, one a line.
cxx_files() {
  local folder ending folders=()
  for folder in include src python/bindings tests benchmarks examples; do
    [[ -d "$folder" ]] && folders+=("$folder")
  done
  for ending in "$@"; do
    find "${folders[@]}" -type f -name "*.$ending"
  done | sort
}

part_build() { scripts/build.sh; }

part_format() { cxx_files h cc | xargs -r -d '\n' clang-format --dry-run -Werror; }

# Writes build/lint/compile_commands.json for clang-tidy: the compiler's one without precompiled
# headers and options that only GCC knows, and with a file that includes all public headers.
tidy_commands() {
  "$venv_python" - <<'PYTHON'
import json
import pathlib
import re

root = pathlib.Path.cwd()
lint = root / "build/lint"
lint.mkdir(parents=True, exist_ok=True)
headers = sorted(path.relative_to(root / "include") for path in (root / "include").rglob("*.h"))
text = "".join(f'#include "{header}"\n' for header in headers)
all_headers = lint / "all_headers.cc"
if not all_headers.exists() or all_headers.read_text() != text:
    all_headers.write_text(text)

unwanted = re.compile(
    r" (-include \S*cmake_pch\.hxx|-Winvalid-pch|-flto\S*|-f(no-)?fat-lto-objects|-o \S+)"
)
commands = json.loads((root / "build/release/compile_commands.json").read_text())
commands = [entry for entry in commands if "cmake_pch.hxx" not in entry["file"]]
for entry in commands:
    entry["command"] = unwanted.sub("", entry["command"])
    entry.pop("output", None)
library = next(entry for entry in commands if entry["file"].startswith(f"{root}/src/"))
commands.append(
    {
        "directory": library["directory"],
        # As users of the headers alone compile them.
        "command": library["command"]
        .replace(library["file"], str(all_headers))
        .replace(" -DSCHEDFW_COMPILED", ""),
        "file": str(all_headers),
    }
)
(lint / "compile_commands.json").write_text(json.dumps(commands, indent=1))
PYTHON
}

# Checks one file; a stamp saves the work until the file, a header or the configuration changes.
tidy_file() {
  local file="$1" filter="^$root/(src|tests|python/bindings|benchmarks|examples)/"
  local stamp="build/lint/passed/$file"
  if [[ "$stamp" -nt "$file" && "$stamp" -nt build/lint/newest ]]; then return 0; fi
  if [[ "$file" == build/lint/all_headers.cc ]]; then filter="^$root/include/"; fi
  echo "$file"
  local output status=0
  output="$(clang-tidy -p build/lint --quiet --warnings-as-errors='*' --header-filter="$filter" \
    --extra-arg=-Wno-unknown-warning-option "$file" 2>&1)" || status=1
  grep -Ev '^[0-9]+ warnings? (generated|treated)|^Suppressed |^Use -header-filter' \
    <<<"$output" || true
  ((status == 0)) || return 1
  mkdir -p "$(dirname "$stamp")"
  touch "$stamp"
}

part_tidy() {
  tidy_commands || return
  # The time of the newest file that can change what clang-tidy says of another one.
  local newest
  newest="$({
    echo .clang-tidy
    cxx_files h
  } | xargs -d '\n' ls -t | head -n 1)" || true
  touch -r "$newest" build/lint/newest
  export root
  export -f tidy_file
  # shellcheck disable=SC2016  # the inner shell expands it
  {
    echo build/lint/all_headers.cc  # the longest first
    if [[ "${SCHEDFW_TIDY:-core}" == all ]]; then
      cxx_files cc | grep -v '^examples/cpp'
    else
      cxx_files cc | grep -E '^(src|python/bindings)/'
    fi
  } | xargs -d '\n' -n 1 -P "$(nproc)" bash -c 'tidy_file "$1"' _
}

part_ruff() { .venv/bin/ruff check .; }

part_ruff-format() { .venv/bin/ruff format --check .; }

part_mypy() { .venv/bin/mypy --strict python/schedfw; }

part_ctest() {
  ctest --test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)" \
    --output-junit "$logs/ctest.xml"
}

part_pytest() { .venv/bin/pytest tests/python --junitxml="$logs/pytest.xml"; }

part_instructions() { scripts/instructions.sh; }

part_install() { scripts/test_install.sh; }

# Prints "passed failed skipped" of a test report.
count_report() {
  "$venv_python" - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree

counts = dict.fromkeys(("tests", "failures", "errors", "skipped", "disabled"), 0)
for suite in tree.parse(sys.argv[1]).getroot().iter("testsuite"):
    for key in counts:
        counts[key] += int(suite.get(key, 0))
failed = counts["failures"] + counts["errors"]
skipped = counts["skipped"] + counts["disabled"]
print(counts["tests"] - failed - skipped, failed, skipped)
PYTHON
}

table=""
total_passed=0
total_failed=0

run_part() {
  local part="$1" log="$logs/$1.log" status=0 start="$EPOCHREALTIME"
  local counts="" passed failed skipped seconds
  rm -f "$logs/$part.xml"
  "part_$part" >"$log" 2>&1 </dev/null || status=$?
  seconds="$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')"
  case "$part" in
    ctest | pytest) counts="$(count_report "$logs/$part.xml" 2>/dev/null)" || counts="" ;;
    instructions | install)
      counts="$(sed -nE "s/^$part: ([0-9]+) passed, ([0-9]+) failed$/\1 \2 0/p" "$log")"
      ;;
    *) counts="$((status == 0)) $((status != 0)) 0" ;;
  esac
  read -r passed failed skipped <<<"${counts:-0 1 0}"
  # No part passes that failed without naming a test, or that ran none.
  if ((failed == 0 && (status != 0 || passed == 0))); then failed=1; fi
  if ((failed)); then
    echo "--- $part failed; the end of ${log#"$root/"}:"
    tail -n 1000 "$log"
    echo "---"
  fi
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  table+="$(printf '%-12s %7d %7d %8d %9s' "$part" "$passed" "$failed" "$skipped" "$seconds")"$'\n'
  echo "$part: $passed passed, $failed failed in $seconds s"
}

for part in "${chosen[@]}"; do
  run_part "$part"
done

printf '\n%-12s %7s %7s %8s %9s\n%s\n' part passed failed skipped seconds "$table"
echo "$total_passed passed, $total_failed failed"
((total_failed == 0))

#!/usr/bin/env bash
# Counts the instructions of fixed pieces of work and compares them with the recorded ones.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: scripts/instructions.sh [-h] [--update]

Runs the scenarios of benchmarks/instructions.cc under valgrind and prints a table. A count of more
than 10 % above benchmarks/instructions.json fails. With a compiler of another major version than
the recorded one, it only warns. Ends with the line `instructions: N passed, N failed`.

  --update   write the counts to benchmarks/instructions.json
HELP
}

compare_options=()
case "${1:-}" in
  "") ;;
  --update) compare_options=(--update) ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
schedfw_setup
require_packages valgrind
cd "$root"

# The tree of scripts/build.sh has the library already; otherwise one of its own. The flags are the
# same.
tree=build/release
if ! grep -qs '^SCHEDFW_BUILD_TESTS:[^=]*=ON' "$tree/CMakeCache.txt"; then
  tree=build/instructions
  run_logged instructions-configure cmake -S . -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DSCHEDFW_BUILD_TESTS=OFF -DSCHEDFW_BUILD_BENCHMARKS=ON \
    -DSCHEDFW_WARNINGS_AS_ERRORS="${SCHEDFW_WARNINGS_AS_ERRORS:-ON}"
fi
run_logged instructions-build cmake --build "$tree" --target schedfw_instructions
program="$tree/benchmarks/schedfw_instructions"

# Each scenario is a process of its own, so that none depends on what others left in memory.
work=build/instructions-counts
rm -rf "$work"
mkdir -p "$work"

# glibc and simdjson choose functions by the processor: here always those without AVX, so that
# machines agree. An empty environment gives all runs the same addresses.
count_scenario() {
  local name="$1" program="$2" work="$3"
  env -i PATH="$PATH" LC_ALL=C SIMDJSON_FORCE_IMPLEMENTATION=westmere \
    GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-BMI2 \
    valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$work/$name.out" \
    "$program" "$name" >"$work/$name.log" 2>&1 || {
    cat "$work/$name.log" >&2
    return 1
  }
}
export -f count_scenario
scenarios="$("$program" --list)"
# shellcheck disable=SC2016  # the inner shell expands it
cut -d ' ' -f 1 <<<"$scenarios" |
  xargs -n 1 -P "$(nproc)" bash -c 'count_scenario "$3" "$1" "$2"' _ "$program" "$work"

"$venv_python" benchmarks/compare_instructions.py "$work" benchmarks/instructions.json \
  --compiler "$("$program" --compiler)" --items "$scenarios" "${compare_options[@]}"

#!/usr/bin/env bash
# Builds the benchmarks and runs them; says on which machine and commit.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: scripts/benchmark.sh [-h] [GOOGLE_BENCHMARK_OPTION…]

e.g. scripts/benchmark.sh --benchmark_filter=BM_Place --benchmark_repetitions=5
HELP
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
schedfw_setup
cd "$root"
# The same flags as in scripts/build.sh, so that ccache need not compile the library again.
run_logged benchmark-configure cmake -S . -B build/benchmark -G Ninja \
  -DCMAKE_BUILD_TYPE=Release -DSCHEDFW_BUILD_TESTS=OFF -DSCHEDFW_BUILD_BENCHMARKS=ON \
  -DSCHEDFW_WARNINGS_AS_ERRORS="${SCHEDFW_WARNINGS_AS_ERRORS:-ON}"
run_logged benchmark-build cmake --build build/benchmark
echo "date:    $(date -u +%F)"
echo "machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "commit:  $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
exec build/benchmark/benchmarks/schedfw_benchmarks "$@"

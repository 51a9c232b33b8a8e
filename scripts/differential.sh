#!/usr/bin/env bash
# Compares schedfw with the real kube-scheduler on random clusters.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: scripts/differential.sh [-h] [--fields | --mutate] [PODS] [SEED] [OPTION…]

Makes random cases with PODS waiting pods (default: 20000) from SEED (default: 1), has both the real
kube-scheduler and schedfw answer them, and compares every status, score, placement and preemption.
The first differences are reduced to the smallest cluster that still shows them. The last line is
`pods=… nodes=… differences=…`; the exit status is 1 if there are differences, or if PODS is 20000
or more and a status that upstream can give came up too rarely. Needs Go 1.26 or newer.

  --fields   Deletes each field of the pods in turn and counts the answers that change: a field that
             changes less than 5 % isn't tested. The last line says how many, and the exit status
             is 1 if there are any. (PODS: 6000)
  --mutate   Puts a fault into each rule in turn and demands that it is found. (PODS: 12000)

options:
  --log          write about this run into docs/conformance.md: a row of the log, or the table of
                 the fields or faults
  --kinds A,B    only these kinds of cases (functions of tests/differential/generate.py)
  --show N       how many differences are reduced and printed (default: 5)
  --by want      with --fields: ask kube-scheduler, not schedfw
  --only NAME    with --mutate: only the faults with this in their name
HELP
}

task=compare
pods=20000
arguments=()
options=()
while (($#)); do
  case "$1" in
    -h | --help)
      usage
      exit 0
      ;;
    --fields)
      task=fields
      pods=6000
      ;;
    --mutate)
      task=mutate
      pods=12000
      ;;
    --log) options+=(--log docs/conformance.md) ;;
    --kinds | --show | --by | --only)
      if (($# < 2)); then
        usage >&2
        exit 2
      fi
      options+=("$1=$2")
      shift
      ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
if ((${#arguments[@]} > 2)); then
  usage >&2
  exit 2
fi
pods="${arguments[0]:-$pods}"
seed="${arguments[1]:-1}"
if ! [[ "$pods" =~ ^[1-9][0-9]*$ ]]; then
  echo "PODS must be a positive number, not \"$pods\"" >&2
  exit 2
fi

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"

# The real scheduler is built from the Go modules that go.sum names.
require_go() {
  local version
  if ! command -v go >/dev/null; then
    echo "Go is missing: 1.26 or newer is needed to build the real kube-scheduler" >&2
    echo "(see benchmarks/peers/kube_scheduler/README.md)" >&2
    return 1
  fi
  version="$(go env GOVERSION)"
  if ! [[ "$version" =~ ^go1\.([0-9]+) ]] || ((BASH_REMATCH[1] < 26)); then
    echo "Go is too old: $version; 1.26 or newer is needed to build the real kube-scheduler" >&2
    return 1
  fi
}

require_go
require_packages "${SYSTEM_PACKAGES[@]}"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

build="$root/build/differential"
mkdir -p "$build"
run_logged differential-go nice go -C benchmarks/peers/kube_scheduler build -buildvcs=false \
  -o "$build/kube_scheduler" .
run_logged differential-configure cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DSCHEDFW_BUILD_TESTS=ON
run_logged differential-build nice cmake --build "$build" --target schedfw_answers

export PYTHONPATH="$root/tests" PYTHONDONTWRITEBYTECODE=1
exec python3 -m differential "$task" "$pods" "$seed" --oracle "$build/kube_scheduler" \
  --answers "$build/tests/schedfw_answers" --work "$build/$task" "${options[@]}"

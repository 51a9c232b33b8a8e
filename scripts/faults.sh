#!/usr/bin/env bash
# Runs seeded fault plans: schedulers whose plugins fail, and what must hold when they end.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: scripts/faults.sh [-h] [PLANS] [SEED] [OPTION…]

Runs PLANS plans (default: 10000) from SEED (default: 1). Each is a cluster of 16 nodes and 200 pods,
while plugins fail at every extension point and nodes and pods come, change and go; see
docs/testing.md. The last line is `plans=… lost=… double=… stuck=… diverged=…`; the exit status is 1
if one of the counts isn't 0. A plan that failed is named, and can be run alone with --only.

options:
  --leak           instead, print how many states captured in the middle of cycles equal what was
                   committed, with isolation of cycles and without (PLANS: 200)
  --binder KIND    bind within the step (none), in virtual time (inline), or on eight threads
                   (threaded); by default each plan chooses
  --only NUMBER    only the plan of this number
  --threads N      how many plans run at a time (default: as many as there are cores)
HELP
}

plans=10000
numbers=()
options=()
while (($#)); do
  case "$1" in
    -h | --help)
      usage
      exit 0
      ;;
    --leak)
      options+=("$1")
      plans=200
      ;;
    --binder | --only | --threads)
      if (($# < 2)); then
        usage >&2
        exit 2
      fi
      options+=("$1" "$2")
      shift
      ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) numbers+=("$1") ;;
  esac
  shift
done
if ((${#numbers[@]} > 2)); then
  usage >&2
  exit 2
fi
plans="${numbers[0]:-$plans}"
seed="${numbers[1]:-1}"
for number in "$plans" "$seed"; do
  if ! [[ "$number" =~ ^[0-9]+$ ]]; then
    echo "PLANS and SEED must be numbers, not \"$number\"" >&2
    exit 2
  fi
done

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"
require_packages "${SYSTEM_PACKAGES[@]}"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

build="$root/build/faults"
run_logged faults-configure cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DSCHEDFW_BUILD_TESTS=ON
run_logged faults-build nice cmake --build "$build" --target schedfw_fault_plans
exec "$build/tests/schedfw_fault_plans" "$plans" "$seed" "${options[@]}"

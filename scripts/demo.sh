#!/usr/bin/env bash
# Builds the package and runs the demonstration.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: scripts/demo.sh [-h] [arguments of schedfw.demo...]

Runs `python -m schedfw.demo --out out`; further arguments are passed on, and a later --out wins.
HELP
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac

out=out
previous=""
for argument in "$@"; do
  case "$argument" in
    --out=*) out="${argument#--out=}" ;;
    *) [[ "$previous" != --out ]] || out="$argument" ;;
  esac
  previous="$argument"
done

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
schedfw_setup
"$root/scripts/build.sh" Release
cd "$root"
"$venv_python" -m schedfw.demo --out out "$@"
echo "results: $out/"

#!/usr/bin/env bash
# Builds the C++ tests and the Python module in one tree and installs the package into .venv.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: scripts/build.sh [-h] [BUILD_TYPE]

BUILD_TYPE is a CMake build type: Release (the default), RelWithDebInfo or Debug. The tree is
build/ and its name in lower case. Nothing happens if .venv already holds this state of the sources.

environment:
  SCHEDFW_WARNINGS_AS_ERRORS   ON (the default here) or OFF
HELP
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
  "" | Release | RelWithDebInfo | Debug) build_type="${1:-Release}" ;;
  *)
    usage >&2
    exit 2
    ;;
esac

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
schedfw_setup
cd "$root"

build_dir="build/${build_type,,}"
stamp=build/installed.sha256
settings=(
  "build-dir=$build_dir"
  "cmake.build-type=$build_type"
  "cmake.define.SCHEDFW_BUILD_TESTS=ON"
  "cmake.define.SCHEDFW_WARNINGS_AS_ERRORS=${SCHEDFW_WARNINGS_AS_ERRORS:-ON}"
)

# The sources by name, time and size, so that a removed file is noticed too.
state() {
  printf '%s\n' "${settings[@]}"
  cat .venv/requirements.sha256
  find CMakeLists.txt pyproject.toml README.md LICENSE cmake include src python tests \
    -name __pycache__ -prune -o -path tests/python -prune -o -type f -printf '%p %T@ %s\n' | sort
}

wanted="$(state | sha256sum)"
if [[ -f "$stamp" && "$(<"$stamp")" == "$wanted" && -d "$build_dir" ]] &&
  compgen -G '.venv/lib/python*/site-packages/schedfw-*.dist-info' >/dev/null; then
  echo "build: $build_dir is up to date"
  exit 0
fi

echo "build: $build_type in $build_dir"
rm -f "$stamp"
run_logged build "$venv_python" -m pip install -v --no-build-isolation --no-deps --no-index \
  --force-reinstall "${settings[@]/#/--config-settings=}" .
echo "$wanted" >"$stamp"

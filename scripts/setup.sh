#!/usr/bin/env bash
# Sets up everything that building and testing need on Debian 12: system packages and .venv.
# The other scripts source it, which also gives them `root` and the build environment below.

schedfw_setup_usage() {
  cat <<'HELP'
usage: scripts/setup.sh [-h]

Installs the missing system packages (as root or with passwordless sudo; otherwise it prints the
command and stops) and the Python packages of scripts/requirements-dev.txt into .venv. A second run
does nothing. Elsewhere than on Debian it only lists what is needed.

environment:
  PYTHON   the interpreter for a new .venv (default: /usr/bin/python3)
HELP
}

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck disable=SC2034  # used by the scripts that source this one
venv_python="$root/.venv/bin/python"

SYSTEM_PACKAGES=(
  cmake ninja-build g++ ccache pkg-config git
  libtbb-dev libeigen3-dev libsimdjson-dev libyaml-cpp-dev libpugixml-dev zlib1g-dev
  libgtest-dev libbenchmark-dev
  clang-format clang-tidy
  python3 python3-venv python3-dev
)

# Compilers run through ccache. Precompiled headers can be cached only with this sloppiness, and
# with paths relative to the checkout two clones share what they compile.
export CCACHE_SLOPPINESS=pch_defines,time_macros
export CCACHE_BASEDIR="$root"
export CCACHE_NOHASHDIR=1
export CMAKE_EXPORT_COMPILE_COMMANDS=ON
CMAKE_BUILD_PARALLEL_LEVEL="$(nproc)"
export CMAKE_BUILD_PARALLEL_LEVEL

# Runs a command with its output in build/logs/NAME.log, which is shown only if it fails.
run_logged() {
  local log="$root/build/logs/$1.log"
  shift
  mkdir -p "$root/build/logs"
  "$@" >"$log" 2>&1 </dev/null || {
    local status=$?
    cat "$log" >&2
    echo "failed: $*" >&2
    return "$status"
  }
}

# Installs those of the named Debian packages that are missing.
require_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "system packages: not a Debian system, please provide: $*"
    return 0
  fi
  local package missing=()
  for package in "$@"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] ||
      missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    [[ -n "${SCHEDFW_SETUP_DONE:-}" ]] || echo "system packages: all present"
    return 0
  fi
  local as_root=()
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
      echo "system packages: missing ${missing[*]}" >&2
      echo "install them with: apt-get install --no-install-recommends ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo -n)
  fi
  echo "system packages: installing ${missing[*]}"
  run_logged apt-update "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 update || return
  run_logged apt-install "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
}

# Makes .venv hold the packages of requirements-dev.txt; a stamp remembers which list it holds.
require_venv() {
  local requirements="$root/scripts/requirements-dev.txt"
  local stamp="$root/.venv/requirements.sha256" hash
  hash="$(sha256sum <"$requirements")"
  if [[ -f "$stamp" && "$(<"$stamp")" == "$hash" ]] && "$venv_python" -c '' 2>/dev/null; then
    [[ -n "${SCHEDFW_SETUP_DONE:-}" ]] || echo "python packages: all present"
    return 0
  fi
  echo "python packages: installing into .venv"
  if ! "$venv_python" -m pip --version >/dev/null 2>&1; then
    local python="${PYTHON:-/usr/bin/python3}"
    command -v "$python" >/dev/null || python=python3
    run_logged venv "$python" -m venv --clear "$root/.venv" || return
  fi
  run_logged pip "$venv_python" -m pip install --upgrade -r "$requirements" || return
  echo "$hash" >"$stamp"
}

schedfw_setup() {
  require_packages "${SYSTEM_PACKAGES[@]}" || return
  require_venv || return
  if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  export SCHEDFW_SETUP_DONE=1  # scripts that call each other report this step once
}

if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then
  set -euo pipefail
  case "${1:-}" in
    "") schedfw_setup ;;
    -h | --help) schedfw_setup_usage ;;
    *)
      schedfw_setup_usage >&2
      exit 2
      ;;
  esac
fi

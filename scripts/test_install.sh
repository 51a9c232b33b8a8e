#!/usr/bin/env bash
# Installs the C++ library and uses it as a stranger would: examples/cpp against a static and a
# shared installation, and once more with the sources added by add_subdirectory().
set -euo pipefail

usage() {
  cat <<'HELP'
usage: scripts/test_install.sh [-h]

Works in build/install-test and ends with the line `install: N passed, N failed`.
HELP
}

case "${1:-}" in
  "") ;;
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

# The path of the work folder is fixed so that ccache knows the files again.
work="$root/build/install-test"
mkdir -p "$work"
# The same flags as in scripts/build.sh, so that ccache need not compile the library again.
library_flags=(
  -G Ninja -DCMAKE_BUILD_TYPE=Release
  -DSCHEDFW_WARNINGS_AS_ERRORS="${SCHEDFW_WARNINGS_AS_ERRORS:-ON}"
)

# Builds and tests the project in $1, in the fresh tree $2; the rest goes to cmake.
consume() {
  local source="$1" tree="$2"
  shift 2
  rm -rf "$tree"
  cmake -S "$source" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" || return
  cmake --build "$tree" || return
  ctest --test-dir "$tree" --output-on-failure --no-tests=error || return
}

# Installs a $1 (static or shared) library and builds the example against it.
installed() {
  local shared=OFF prefix="$work/$1-prefix"
  [[ "$1" == shared ]] && shared=ON
  rm -rf "$prefix"
  cmake -S "$root" -B "$work/$1-library" "${library_flags[@]}" -DSCHEDFW_BUILD_TESTS=OFF \
    -DBUILD_SHARED_LIBS="$shared" || return
  cmake --build "$work/$1-library" || return
  cmake --install "$work/$1-library" --prefix "$prefix" || return
  # An installed package that names its sources works only on the machine that built it.
  if grep -rnF --include='*.cmake' "$root" "$prefix"; then
    echo "the installed CMake files name the source folder"
    return 1
  fi
  consume "$root/examples/cpp" "$work/$1-consumer" -DCMAKE_PREFIX_PATH="$prefix"
}

# Builds the example in a project that has the library as a subdirectory.
subdirectory() {
  local project="$work/subdirectory"
  mkdir -p "$project"
  cat >"$project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
enable_testing()
add_subdirectory("${SCHEDFW_SOURCE}" schedfw)
if(TARGET schedfw_tests)
  message(FATAL_ERROR "a consumer of schedfw must not get its tests")
endif()
# The example's find_package(schedfw) is content with the targets that exist already.
file(WRITE "${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/schedfw-config.cmake" "")
file(WRITE "${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/schedfw-config-version.cmake"
  "set(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
add_subdirectory("${SCHEDFW_SOURCE}/examples/cpp" example)
CMAKE
  consume "$project" "$work/subdirectory-consumer" -DSCHEDFW_SOURCE="$root" "${library_flags[@]}"
}

passed=0
failed=0
check() {
  local name="$1"
  shift
  if run_logged "install-$name" "$@"; then
    echo "install $name: passed"
    passed=$((passed + 1))
  else
    echo "install $name: FAILED"
    failed=$((failed + 1))
  fi
}

check static installed static
check shared installed shared
check subdirectory subdirectory
echo "install: $passed passed, $failed failed"
((failed == 0))

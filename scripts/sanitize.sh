#!/usr/bin/env bash
# Builds and runs the C++ tests under sanitizers.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: scripts/sanitize.sh [-h] [address|thread] [ctest arguments...]

  address   AddressSanitizer and UndefinedBehaviorSanitizer, in build/asan
  thread    ThreadSanitizer, in build/tsan

Without either, both run. The first report ends a test. Debian's oneTBB is not instrumented: its
use looks like races, and hiding those would hide real ones. So `thread` builds Debian's source
package of oneTBB with ThreadSanitizer once, in build/tsan-tbb.
HELP
}

sanitizers=(address thread)
case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
  address | thread)
    sanitizers=("$1")
    shift
    ;;
  "" | -*) ;;
  *)
    usage >&2
    exit 2
    ;;
esac

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
schedfw_setup
cd "$root"

# shellcheck disable=SC2317  # the next two are called through run_logged
# Writes source-package (deb-src) entries for this release's enabled entries into the folder $1.
write_source_entries() {
  local codename file
  codename="$(. /etc/os-release && echo "$VERSION_CODENAME")"
  mkdir -p "$1"
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ -f "$file" ]] || continue
    # Paragraphs of fields; a comment inside one does not end it.
    grep -v '^#' "$file" |
      awk -v RS= -v ORS='\n\n' -v release="$codename" \
        '$0 ~ ("(^|\n)Suites:[^\n]*[ \t]" release) && !/(^|\n)Enabled:[ \t]*no/' |
      sed -E 's/^Types:.*/Types: deb-src/' >"$1/$(basename "$file")"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -f "$file" ]] || continue
    awk -v release="$codename" '$1 == "deb" {
        sub(/^[ \t]*deb[ \t]/, "deb-src ")
        if ($0 ~ ("[ \t]" release "(-updates|-security)?[ \t]")) print
      }' "$file" >"$1/$(basename "$file" .list).list"
  done
}

# shellcheck disable=SC2317
# Fetches Debian's oneTBB source into $1/source without touching the system's apt configuration.
fetch_tbb_source() {
  local apt="$1/apt"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$1/source"
  write_source_entries "$apt/parts"
  local options=(
    -o "Dir::Etc::SourceList=$apt/none.list" -o "Dir::Etc::SourceParts=$apt/parts"
    -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache"
    -o APT::Sandbox::User=root -o Acquire::Languages=none
  )
  : >"$apt/none.list"
  apt-get "${options[@]}" update || return
  (cd "$1/source" && apt-get "${options[@]}" source onetbb) || return
  rm -rf "$apt"
}

build_tsan_tbb() {
  local work="$root/build/tsan-tbb"
  [[ -f "$work/install/lib/cmake/TBB/TBBConfig.cmake" ]] && return
  echo "oneTBB: building with ThreadSanitizer in build/tsan-tbb"
  require_packages dpkg-dev
  rm -rf "$work"
  run_logged tsan-tbb-source fetch_tbb_source "$work"
  local source
  source="$(find "$work/source" -mindepth 1 -maxdepth 1 -type d)"
  run_logged tsan-tbb-configure cmake -S "$source" -B "$work/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTBB_SANITIZE=thread -DTBB_TEST=OFF -DTBB_STRICT=OFF \
    -DTBB4PY_BUILD=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON \
    -DCMAKE_INSTALL_PREFIX="$work/install" -DCMAKE_INSTALL_LIBDIR=lib
  run_logged tsan-tbb-build cmake --build "$work/build"
  run_logged tsan-tbb-install cmake --install "$work/build"
  rm -rf "$work/source" "$work/build"
}

# ThreadSanitizer of GCC 12 cannot lay out its memory where the kernel randomizes addresses widely.
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

failed=0
for sanitizer in "${sanitizers[@]}"; do
  preset=asan
  runner=()
  if [[ "$sanitizer" == thread ]]; then
    preset=tsan
    runner=("${fixed_addresses[@]}")
    build_tsan_tbb
  fi
  echo "$sanitizer: building in build/$preset"
  run_logged "$preset-configure" cmake --preset "$preset"
  # The build lists the tests by running them, hence the runner.
  run_logged "$preset-build" "${runner[@]}" cmake --build --preset "$preset"
  "${runner[@]}" ctest --preset "$preset" -j "$(nproc)" "$@" || failed=1
done
exit "$failed"

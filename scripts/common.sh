# Shared by the scripts beside it; sourced, never run. Leaves the caller in the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() {
  printf 'stepscope: %s\n' "$*" >&2
  exit 2
}

# One job a core, but never more than the memory that is free holds: an optimising g++ on our largest source takes under 1.5 GB.
build_jobs() {
  local cores free_kb by_memory
  cores=$(nproc)
  free_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  by_memory=$((${free_kb:-0} / 1500000))
  echo $((by_memory < 1 ? 1 : by_memory < cores ? by_memory : cores))
}

# configure PRESET [cmake option…]: prints CMake's own lines only when it fails; what the build leaves out is always said.
configure() {
  local preset=$1 log
  shift
  mkdir -p "build/$preset"
  log=build/$preset/configure.log
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  if ! cmake --preset "$preset" -DSTEPSCOPE_FETCH_NVTX=ON "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    die "configuring build/$preset failed (above: the end of $log)"
  fi
  if [[ ${CI-} == true ]]; then name_joined_sources_from_their_list "build/$preset"; fi
  grep -E '^-- Stepscope:|^CMake Warning|^  Stepscope:' "$log" | sed 's/^-- //; s/^/   /' || true
}

# name_joined_sources_from_their_list BUILD_FOLDER: what CMake compiles as one is a list of #includes, which name this clone's folder.
# Named from where the list stands, the compiler's cache knows it in every clone. Only for CI: CMake writes the lists anew with each
# new source, and a developer would wait for all of them.
name_joined_sources_from_their_list() {
  local list
  find "$1" -path '*/Unity/unity_*' | while IFS= read -r list; do
    sed -i "s|^#include \"$PWD/|#include \"$(realpath --relative-to="${list%/*}" .)/|" "$list"
  done
}

# build PRESET [target…]
build() {
  local preset=$1
  shift
  cmake --build "build/$preset" -j "$(build_jobs)" ${1+--target "$@"}
}

# run_ctest RESULTS.xml LOG COMMAND…: runs ctest by the command and leaves its results. The few that failed run once more, alone;
# docs/design/decisions/0048-second-run-of-a-test.md says which, and why they stay named.
run_ctest() {
  local results=$1 log=$2 again=${1%.xml}-again.part temporary
  shift 2
  rm -f "$results"

  # Tests of another clone on this machine have the same names, and so have their temporary folders.
  temporary=$(mktemp -d "${TMPDIR:-/tmp}/stepscope-XXXXXX")
  chmod 1777 "$temporary" # some tests become another user
  local -x TMPDIR=$temporary

  "$@" -j "$(nproc)" --output-junit "$results" >"$log" 2>&1 || true
  if [[ ! -s $results ]]; then
    tail -n 40 "$log" >&2
    note "ctest did not run (above: the end of $log)"
    rm -rf "$temporary" || true
    return 1
  fi

  if python3 scripts/summarize_tests.py --may-run-again "$results"; then
    "$@" --rerun-failed --output-junit "$again" >>"$log" 2>&1 || true
    python3 scripts/summarize_tests.py --merge "$again" "$results" || true
    rm -f "$again"
  fi
  rm -rf "$temporary" || true
  python3 scripts/summarize_tests.py "$results"
}

#!/usr/bin/env bash
# clang-tidy over our sources (not the tests), with the commands of a build folder that clang can read. Benchmarks, which are not
# built with all else, are only compiled.
#
#   scripts/tidy.sh BUILD_FOLDER [PATH…]      PATH: files or folders; default: every layer
#
# Needs clang-tidy 14, the version of Debian 12. Exit status 77: not found. With ccache, units that have not changed since they were
# found clean are not checked again.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

folder=${1:?"usage: scripts/tidy.sh BUILD_FOLDER [PATH…]"}
shift
[[ -f $folder/compile_commands.json ]] || die "$folder has no compile_commands.json, run first: cmake --preset tidy"
program=
for candidate in clang-tidy-14 clang-tidy; do
  if command -v "$candidate" >/dev/null && [[ $("$candidate" --version) == *"LLVM version 14."* ]]; then
    program=$candidate
    break
  fi
done
if [[ -z $program ]]; then
  echo "clang-tidy 14 is not installed"
  exit 77
fi
paths=("$@")
if ((${#paths[@]} == 0)); then paths=(trace tracer mpi workloads doctor selftest analyzer reports query run_loading gate tune agent viewer cli); fi
once=$folder/tidy
mkdir -p "$once"
status=0 units=0
rm -f "$once/faults" "$once/log"
touch "$once/faults" "$once/log"
# check PATH… -- OPTION…: what clang-tidy finds with these options goes to faults.
check() {
  local roots=() files
  while [[ $1 != -- ]]; do roots+=("$1") && shift; done
  shift
  # The largest first, so that no core idles at the end.
  mapfile -t files < <(python3 scripts/tidy_units.py units "$folder" "${roots[@]}")
  if ((${#files[@]} == 0)) || [[ -z ${files[0]} ]]; then die "tidy: none of ${roots[*]} is compiled in $folder"; fi
  printf '%s\0' "${files[@]}" | TIDY_PROGRAM=$program TIDY_OPTIONS=$* xargs -0 -n 1 -P "$(nproc)" \
    python3 scripts/tidy_units.py check "$folder" >"$once/found" 2>>"$once/log" || status=$?
  python3 scripts/tidy_units.py places "$folder" <"$once/found" >>"$once/faults"
  units=$((units + ${#files[@]}))
}
# Most states of a function that the static analyzer looks at. With a tenth of its own limit the checks take half the time, and
# functions as short as ours rarely need more.
analyzer=(-Xclang -analyzer-config -Xclang max-nodes=20000)
check "${paths[@]}" -- "${analyzer[@]/#/--extra-arg=}"
# What the compiler says comes with any check.
if (($# == 0)); then check bench -- '--checks=-*,clang-diagnostic-*,misc-definitions-in-headers'; fi
if ((status != 0)); then
  # A fault in a header is found once for every source that includes it: print it once.
  awk '/^[^ ].*: (error|warning): / {shown = !seen[$0]++} shown' "$once/faults"
  grep -E 'error:|Error' "$once/log" | sort -u | head -n 20 || true
  echo "clang-tidy: $(grep -E ': error: ' "$once/faults" | sort -u | wc -l) faults in $units units"
  exit 1
fi
echo "clang-tidy: $units units are clean"

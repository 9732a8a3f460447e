#!/usr/bin/env bash
# clang-tidy in the dress of a compiler, so that ccache keeps its verdicts: the object says that nothing was found in a source.
# A source with a fault makes no object, and is checked again. Called by scripts/tidy_units.py, with the words of a compiler:
#
#   tidy_unit.sh --version           all besides the source on which the verdict depends
#   tidy_unit.sh -E …                the source as clang++ preprocesses it, with comments (NOLINT) and macros
#   tidy_unit.sh … -o OBJECT -c SOURCE
#
# TIDY_PROGRAM: clang-tidy; TIDY_OPTIONS: its options, separated by blanks.
set -euo pipefail
read -ra options <<<"${TIDY_OPTIONS:-}"
root=$(dirname "${BASH_SOURCE[0]}")/..

object='' source='' words=()
for ((at = 1; at <= $#; ++at)); do
  next=$((at + 1))
  case ${!at} in
    --version)
      "$TIDY_PROGRAM" --version
      printf '%s\n' "$TIDY_OPTIONS"
      exec cat "$root/.clang-tidy" "${BASH_SOURCE[0]}"
      ;;
    -E) exec clang++ -C -dD "$@" ;;
    -o) object=${!next} && ((at += 1)) ;;
    -c | -fcolor-diagnostics) ;;
    *.cpp) source=${!at} ;;
    *) words+=("${!at}") ;;
  esac
done

"$TIDY_PROGRAM" --quiet "${options[@]}" "$source" -- "${words[@]}"
echo clean >"$object"

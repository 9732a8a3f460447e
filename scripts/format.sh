#!/usr/bin/env bash
# Formats every C++ file of the repository in place, or with --check only tells which ones are not formatted.
# Needs clang-format 14, the version of Debian 12: other versions break lines elsewhere. Exit status 77: not found.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=14
program=
for candidate in clang-format-$version clang-format; do
  if command -v "$candidate" >/dev/null && [[ $("$candidate" --version) =~ version\ $version\. ]]; then
    program=$candidate
    break
  fi
done
if [[ -z $program ]]; then
  echo "clang-format $version is not installed"
  exit 77
fi
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  echo "this is no git checkout: which files are ours is not known"
  exit 77
fi
mode=(-i)
if [[ ${1:-} == --check ]]; then mode=(--dry-run --Werror); fi
git ls-files -z --cached --others --exclude-standard '*.h' '*.cpp' '*.cu' |
  while IFS= read -r -d '' path; do if [[ -f $path ]]; then printf '%s\0' "$path"; fi; done |
  xargs -0 -r -n 20 -P "$(nproc)" "$program" "${mode[@]}" || {
  echo "not formatted: run scripts/format.sh"
  exit 1
}

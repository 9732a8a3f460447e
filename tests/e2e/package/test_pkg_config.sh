#!/usr/bin/env bash
# A program of another project by pkg-config: test_pkg_config.sh PREFIX COMPILER NVTX_INCLUDE [STEPSCOPE]
# With the program at hand its steps are in the trace.
set -euo pipefail
prefix=$1 compiler=$2 nvtx=$3 stepscope=${4:-}
if ! command -v pkg-config >/dev/null; then
  echo "pkg-config is not here"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PKG_CONFIG_PATH=$prefix/share/pkgconfig
[[ $(pkg-config --modversion stepscope) == 0.* ]]
# shellcheck disable=SC2046
"$compiler" -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags stepscope) -isystem "$nvtx" -o "$folder/outside" \
  "$(dirname "$0")/outside/outside.cpp" $(pkg-config --libs stepscope)
[[ $("$folder/outside") == "trained 3 steps" ]]

# Where the compiler does not find NVTX by itself, it says where it comes from.
if ! echo '#include <nvtx3/nvToolsExt.h>' | "$compiler" -x c++ -fsyntax-only - 2>/dev/null; then
  # shellcheck disable=SC2046
  says=$("$compiler" -std=c++17 $(pkg-config --cflags stepscope) -fsyntax-only "$(dirname "$0")/outside/outside.cpp" 2>&1) && exit 1
  [[ $says == *"needs the headers of NVTX 3"* ]]
fi

[[ -n $stepscope ]] || exit 0

"$stepscope" record -o "$folder/run" -- "$folder/outside"
[[ $("$stepscope" query "$folder/run" "SELECT count(*) FROM step_marks" --format csv | tail -n 1) == 3 ]]

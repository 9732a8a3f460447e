#!/usr/bin/env bash
# Trains the CIFAR-10 network on two devices, traces it, analyzes the trace and shows it: demo/report.html and demo/viewer.png.
# Everything is on this machine; without a GPU the two devices are host devices (its cores).
#
#   scripts/demo.sh [option of `stepscope profile cifar10`…]      e.g. --steps 100, --device host:4
#
# STEPSCOPE_DEMO_DIR is where it writes (demo).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
demo=${STEPSCOPE_DEMO_DIR:-demo}
bin=build/release/bin

scripts/setup.sh
say "Building (build/release)"
configure release
grep -q '^STEPSCOPE_NVTX_INCLUDE:PATH=/' build/release/CMakeCache.txt ||
  die "the demo traces with NVTX, whose headers are neither here nor could be downloaded: install a CUDA toolkit, or get" \
    "github.com/NVIDIA/NVTX and add -DSTEPSCOPE_NVTX_INCLUDE=…/c/include to: cmake --preset release"
build release demo_programs

say "Training, tracing and analyzing: stepscope profile cifar10"
mkdir -p "$demo"
device=(--device host:2)
for argument in "$@"; do
  if [[ $argument == --device* ]]; then device=(); fi
done
"$bin/stepscope" profile cifar10 "${device[@]}" -o "$demo/run" --force "$@"
cp "$demo/run/report.html" "$demo/report.html"

say "Drawing the viewer: stepscope view --screenshot"
rm -f "$demo/viewer.png"
# A software renderer in a virtual screen where there is no screen.
display=()
if [[ -z ${DISPLAY:-} ]]; then display=(xvfb-run -a -s "-screen 0 1920x1200x24"); fi
"${display[@]}" "$bin/stepscope" view "$demo/run" --screenshot "$demo/viewer.png"

say "What was found: stepscope analyze $demo/run"
"$bin/stepscope" analyze "$demo/run"

say "Where things are"
note "report    $demo/report.html     open it in a browser"
note "picture   $demo/viewer.png      of the viewer: $bin/stepscope view $demo/run"
note "run       $demo/run             every command takes it: $bin/stepscope --help"

#!/usr/bin/env bash
# Finds a fault, predicts what its cure gives, cures it, and proves it. The CIFAR-10 network trains on two devices, first with a
# slow input, then without. Writes demo/report.html, demo/viewer.png and the runs demo/slow and demo/cured.
# Everything is on this machine; without a GPU the two devices are host devices (its cores).
#
#   scripts/demo.sh [option of `stepscope profile cifar10`…]      e.g. --steps 100, --device host:4
#
# STEPSCOPE_DEMO_DIR is where it writes (demo). STEPSCOPE_DEMO_BIN is the bin folder of an unpacked bundle or of an installation:
# then nothing is built. Without it, and where nothing is built yet, a bundle that is unpacked here is used.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
demo=${STEPSCOPE_DEMO_DIR:-demo}
bin=${STEPSCOPE_DEMO_BIN:-build/release/bin}
input_delay_ms=50

build_programs() {
  if [[ ! -x $bin/stepscope ]]; then
    note "Building takes about 12 minutes on 2 cores the first time. With a binary bundle at hand nothing is built:"
    note "STEPSCOPE_DEMO_BIN=stepscope-…/bin scripts/demo.sh"
  fi
  scripts/setup.sh
  say "Building (build/release)"
  configure release
  grep -q '^STEPSCOPE_NVTX_INCLUDE:PATH=/' build/release/CMakeCache.txt ||
    die "the demo traces with NVTX, whose headers are neither here nor could be downloaded: install a CUDA toolkit, or get" \
      "github.com/NVIDIA/NVTX and add -DSTEPSCOPE_NVTX_INCLUDE=…/c/include to: cmake --preset release"
  build release demo_programs
}

# bundle: the bin folder of a bundle that is unpacked here; nothing where there is none.
bundle() {
  local program
  for program in stepscope-*/bin/stepscope; do
    if [[ -x $program ]]; then
      dirname "$program"
      return
    fi
  done
}

found=$(bundle)
if [[ -z ${STEPSCOPE_DEMO_BIN:-} && ! -x $bin/stepscope && -n $found ]]; then
  bin=$found
  note "The programs are those of the bundle $found"
elif [[ -z ${STEPSCOPE_DEMO_BIN:-} ]]; then
  build_programs
elif [[ ! -x $bin/stepscope ]]; then
  die "$bin/stepscope: is no program; STEPSCOPE_DEMO_BIN names the folder that has it"
fi
mkdir -p "$demo"

options=(--device host:2 --steps 60)
for argument in "$@"; do
  if [[ $argument == --device* ]]; then options=(--steps 60); fi
done
options+=("$@")
stepscope() { "$bin/stepscope" --no-pager "$@"; }
# train RUN [option…]: what it prints stands in demo/RUN.log.
train() {
  local run=$1
  shift
  stepscope profile cifar10 "${options[@]}" "$@" -o "$demo/$run" --force >"$demo/$run.log" 2>&1 ||
    { cat "$demo/$run.log" >&2 && die "the training failed (above: $demo/$run.log)"; }
}

say "1. A training is slow: stepscope profile cifar10 --input-delay-ms $input_delay_ms"
train slow --input-delay-ms "$input_delay_ms"
cp "$demo/slow/report.html" "$demo/report.html"

say "2. Where does the time go, and why: stepscope analyze $demo/slow"
stepscope analyze "$demo/slow"

say "3. What would the cure give: stepscope whatif $demo/slow --change input=0"
stepscope whatif "$demo/slow" --change input=0 --json >"$demo/whatif.json"
python3 scripts/demo_story.py predicted "$demo/whatif.json"

say "4. The cure: the same training without the delay"
train cured

say "5. Is it true: stepscope compare $demo/slow --vs $demo/cured"
# Exit codes 1 and 3 say that the step is slower, or that it is unclear: the last sentence says so, too.
changed=0
stepscope compare "$demo/slow" --vs "$demo/cured" --json >"$demo/compare.json" || changed=$?
((changed == 0 || changed == 1 || changed == 3)) || die "demo.sh: the runs cannot be compared (above)"
python3 scripts/demo_story.py measured "$demo/compare.json"

say "Drawing the viewer: stepscope view --screenshot"
rm -f "$demo/viewer.png"
# A software renderer in a virtual screen where there is no screen.
display=()
if [[ -z ${DISPLAY:-} ]]; then display=(xvfb-run -a -s "-screen 0 1920x1200x24"); fi
"${display[@]}" "$bin/stepscope" view "$demo/slow" --finding 1 --screenshot "$demo/viewer.png"

say "Where things are"
note "report    $demo/report.html     open it in a browser"
note "picture   $demo/viewer.png      of the viewer: $bin/stepscope view $demo/slow"
note "runs      $demo/slow, $demo/cured   every command takes them: $bin/stepscope --help"

say "What was gained"
python3 scripts/demo_story.py gained "$demo/whatif.json" "$demo/compare.json"

#!/usr/bin/env bash
# Draws the pictures of the documents with the programs of build/release: docs/images/viewer.png and docs/images/report.png.
# Both show a synthetic run of four ranks that wait for their input data.
#
#   scripts/pictures.sh
#   scripts/pictures.sh --gallery FOLDER [RUN…]    into FOLDER: each RUN, or eight synthetic runs, as report (light, dark, 400 px
#                                                  wide) and in the viewer (dark, light): look at them when a page has changed
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
stepscope=$PWD/build/release/bin/stepscope
[[ -x $stepscope ]] || die "pictures.sh: $stepscope is not built: run scripts/demo.sh first"
browser=$(command -v chromium || command -v google-chrome || true)
[[ -n $browser ]] || die "pictures.sh: the page is drawn by Chromium: install the package chromium"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
display=()
if [[ -z ${DISPLAY:-} ]]; then display=(xvfb-run -a -s "-screen 0 1920x1200x24"); fi

# view PNG RUN [option…]
view() {
  local picture=$1 run=$2
  shift 2
  "${display[@]}" "$stepscope" view "$run" --finding 1 "$@" --screenshot "$picture"
}

# shoot PNG PAGE SIZE [option…]
shoot() {
  local picture=$1 page=$2 size=$3
  shift 3
  "$browser" --headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars --user-data-dir="$work/browser" "$@" \
    --window-size="$size" --screenshot="$(realpath -m "$picture")" "file://$page" >"$work/browser.log" 2>&1 ||
    { cat "$work/browser.log" >&2 && die "pictures.sh: Chromium drew nothing (above)"; }
}

# gallery FOLDER RUN…
gallery() {
  local folder=$1 run name
  shift
  mkdir -p "$folder"
  for run in "$@"; do
    name=$(basename "$run")
    "$stepscope" --quiet report "$run" -o "$work/page.html"
    shoot "$folder/$name-light.png" "$work/page.html" 1280,2400
    shoot "$folder/$name-dark.png" "$work/page.html" 1280,2400 --blink-settings=preferredColorScheme=0
    shoot "$folder/$name-narrow.png" "$work/page.html" 400,2400
    view "$folder/$name-viewer.png" "$run" --size 1600x1000 || note "$name: it has no finding to show"
    view "$folder/$name-viewer-light.png" "$run" --size 1600x1000 --theme light || note "$name: it has no finding to show"
  done
}

# synthetic NAME [option…]: a run of that name.
synthetic() {
  local name=$1
  shift
  "$stepscope" --quiet synth --steps 60 "$@" -o "$work/$name"
}

if [[ ${1:-} == --gallery ]]; then
  [[ -n ${2:-} ]] || die "pictures.sh: --gallery needs the folder to write"
  folder=$2
  shift 2
  runs=("$@")
  if ((${#runs[@]} == 0)); then
    synthetic input --ranks 4 --fault input=8
    synthetic late-rank --ranks 4 --fault late-rank=6
    synthetic launch-bound --ranks 1 --fault host-bound
    synthetic slow-link --ranks 2 --fault slow-link
    synthetic pipeline --ranks 4 --pattern pipeline --fault straggler
    synthetic experts --ranks 8 --pattern moe --fault slow-group
    synthetic one-device --ranks 1 --fault tensor-cores
    synthetic large --ranks 16 --fault sync
    runs=("$work"/{input,late-rank,launch-bound,slow-link,pipeline,experts,one-device,large})
  fi
  gallery "$folder" "${runs[@]}"
  exit 0
fi

synthetic training --ranks 4 --fault input=8
view docs/images/viewer.png "$work/training" --size 1600x1000
"$stepscope" --quiet report "$work/training" -o "$work/report.html"
shoot docs/images/report.png "$work/report.html" 1280,1400
note "$(ls -s --block-size=1K docs/images/*.png)"

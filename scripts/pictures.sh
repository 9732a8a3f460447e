#!/usr/bin/env bash
# Draws the pictures of the documents with the programs of build/release: docs/images/viewer.png and docs/images/report.png.
# Both show a synthetic run of four ranks that wait for their input data.
#
#   scripts/pictures.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
stepscope=$PWD/build/release/bin/stepscope
[[ -x $stepscope ]] || die "pictures.sh: $stepscope is not built: run scripts/demo.sh first"
browser=$(command -v chromium || command -v google-chrome || true)
[[ -n $browser ]] || die "pictures.sh: the page is drawn by Chromium: install the package chromium"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$stepscope" --quiet synth --ranks 4 --steps 60 --fault input=8 -o "$work/training"

display=()
if [[ -z ${DISPLAY:-} ]]; then display=(xvfb-run -a -s "-screen 0 1920x1200x24"); fi
"${display[@]}" "$stepscope" view "$work/training" --finding 1 --size 1600x1000 --screenshot docs/images/viewer.png

"$stepscope" --quiet report "$work/training" -o "$work/report.html"
"$browser" --headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars --user-data-dir="$work/browser" \
  --window-size=1280,1400 --screenshot="$PWD/docs/images/report.png" "file://$work/report.html" >"$work/browser.log" 2>&1 ||
  { cat "$work/browser.log" >&2 && die "pictures.sh: Chromium drew nothing (above)"; }
note "$(ls -s --block-size=1K docs/images/*.png)"

#!/usr/bin/env bash
# Fuzzes the reading commands and the viewer at full speed, without sanitizers, on one core and behind everything else:
#   scripts/fuzz_campaign.sh [SECONDS [FOLDER [COMMAND]]]      3600 s, ~/.local/state/stepscope-fuzz
# FOLDER/summary.txt has the executions of each command over all campaigns, FOLDER/campaign.log every turn, FOLDER/faults the
# inputs that crashed, hung or took too much memory: build/campaign/bin/fuzz_campaign --replay FAULT.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds=${1:-3600}
folder=${2:-${XDG_STATE_HOME:-$HOME/.local/state}/stepscope-fuzz}
[[ $seconds =~ ^[0-9]+$ ]] || die "$seconds: is no number of seconds"

configure campaign
build campaign fuzz_campaign
mkdir -p "$folder"
nice -n 19 build/campaign/bin/fuzz_campaign tests/fuzz/corpus "$folder" "$seconds" ${3+"$3"}
cat "$folder/summary.txt"

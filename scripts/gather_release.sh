#!/usr/bin/env bash
# Copies what package.sh, package.sh --deb and wheel.sh have made into a folder, with a bill of materials of each bundle, SHA256SUMS
# and NOTES.md: the newest part of CHANGELOG.md.
#
#   scripts/gather_release.sh FOLDER
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

folder=${1:-}
[[ -n $folder && $folder != -* ]] || { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2; }
version=$(sed -n 's/^project(stepscope VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
made=("build/portable/stepscope-$version-linux-x86_64.tar.gz" "build/package/stepscope_${version}_amd64.deb" build/wheel/stepscope-"$version"-*.whl)
for file in "${made[@]}"; do
  [[ -e $file ]] || die "gather_release.sh: $file is not there, run first: scripts/package.sh; scripts/package.sh --deb; scripts/wheel.sh"
done

rm -rf "$folder"
mkdir -p "$folder"
cp "${made[@]}" "$folder/"
python3 scripts/sbom.py "build/portable/stepscope-$version-linux-x86_64" "$version" "$folder/stepscope-$version-linux-x86_64.spdx.json"
python3 scripts/sbom.py build/wheel/stage "$version" "$folder/stepscope-$version-wheel.spdx.json"
(cd "$folder" && sha256sum stepscope* >stepscope-SHA256SUMS)
# From its first heading of the second level to the next one.
awk '/^## / {if (seen++) exit; next} seen' CHANGELOG.md >"$folder/NOTES.md"
note "$(ls "$folder" | wc -l) files in $folder"

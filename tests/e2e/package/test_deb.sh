#!/usr/bin/env bash
# The Debian package, unpacked: test_deb.sh BUILD. Its programs run, its pages and completions are sound, links of its documents lead
# somewhere, and the system knows the type of a trace.
set -euo pipefail
build=$1
for tool in cpack dpkg-deb dpkg-shlibdeps python3; do
  if ! command -v "$tool" >/dev/null; then
    echo "$tool is not here"
    exit 77
  fi
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$folder/made" >"$folder/cpack.log" 2>&1 || { cat "$folder/cpack.log"; exit 1; }
package=$(ls "$folder"/made/*.deb)
[[ $(dpkg-deb -f "$package" Package) == stepscope && -n $(dpkg-deb -f "$package" Depends) ]]
dpkg-deb -x "$package" "$folder/root"
usr=$folder/root/usr

[[ $("$usr/bin/stepscope" --version) == "stepscope 0."* ]]
"$usr/bin/stepscope" record -o "$folder/run" -- "$usr/bin/stepscope" run mnist --batch 4 --steps 2 --no-evaluate --log-every 0 >/dev/null 2>&1
[[ $("$usr/bin/stepscope" query "$folder/run" "SELECT count(*) FROM step_marks" --format csv | tail -n 1) -ge 2 ]]

packages=$usr/lib/python3/dist-packages
if [[ -e $build/python/stepscope/__init__.py ]]; then
  [[ -e $packages/stepscope/_capture.abi3.so ]]
  [[ $(PYTHONPATH=$packages /usr/bin/python3 -c "import stepscope, sys; print(len(stepscope.open(sys.argv[1]).analyze().hosts) >= 0)" "$folder/run") == True ]]
fi

bash -n "$usr/share/bash-completion/completions/stepscope"
gzip -d "$usr"/share/man/man1/*.1.gz
for page in "$usr"/share/man/man1/*.1; do
  [[ -s $page ]]
  if command -v groff >/dev/null; then
    warnings=$(groff -man -ww -Tutf8 -z "$page" 2>&1)
    [[ -z $warnings ]] || { echo "$page: $warnings"; exit 1; }
  fi
done
[[ $(find "$usr/share/man/man1" -name 'stepscope-*.1' | wc -l) == $("$usr/bin/stepscope" completion fish | grep -c __fish_use_subcommand) ]]

python3 - "$usr/share/doc/stepscope" <<'PYTHON'
import glob, os, re, sys
root, broken = sys.argv[1], []
for path in glob.glob(root + "/**/*.md", recursive=True):
    with open(path, encoding="utf-8") as file:
        targets = re.findall(r"\]\(([^)\s]+)\)", file.read())
    for target in targets:
        there = os.path.join(os.path.dirname(path), target.split("#")[0])
        if not re.match(r"[a-z]+:|#", target) and not os.path.exists(there):
            broken.append((os.path.relpath(path, root), target))
sys.exit("\n".join(map(str, broken)) or 0)
PYTHON

[[ -f $usr/share/applications/stepscope.desktop ]] || exit 0  # without the viewer
grep -q "^Exec=stepscope view %F$" "$usr/share/applications/stepscope.desktop"
if command -v update-mime-database >/dev/null; then
  update-mime-database "$usr/share/mime"
  grep -q "application/vnd.stepscope.trace:\*.stepscope" "$usr/share/mime/globs"
fi

#!/usr/bin/env bash
# Makes build/wheel/stepscope-VERSION-cpXY-cpXY-linux_x86_64.whl: the Python package, the command `stepscope` with the tracer, and
# every library they need beyond glibc. The viewer is not in it. For the Python that the build found; another one:
#
#   scripts/wheel.sh                       build it
#   scripts/wheel.sh --check               and use it in a fresh virtual environment
#   PYTHON=/usr/bin/python3.12 scripts/wheel.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

MAX_GLIBC=2.36
check=0
case ${1:-} in
  --check) check=1 ;;
  "") ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac

scripts/setup.sh --package
say "Building build/release"
configure release ${PYTHON:+-DPython3_EXECUTABLE="$PYTHON"}
build release stepscope stepscope-tracer demo_programs python_package
python=$(sed -n 's/^_\{0,1\}Python3_EXECUTABLE:[A-Z]*=//p' build/release/CMakeCache.txt | head -n 1)
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' build/release/CMakeCache.txt)

say "Carrying libraries"
stage=build/wheel/stage
rm -rf build/wheel
bundle=$stage/stepscope/bundle
mkdir -p "$bundle/lib"
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
cp "build/release/python/stepscope/_engine$suffix" build/release/python/stepscope/_capture.abi3.so python/stepscope/*.py python/stepscope/*.pyi python/stepscope/py.typed "$stage/stepscope/"
mkdir "$stage/stepscope/integrations"
cp python/stepscope/integrations/*.py "$stage/stepscope/integrations/"
cmake --install build/release --prefix "$bundle" --component programs --strip >/dev/null
rm -f "$bundle/bin/stepscope-viewer"
strip --strip-unneeded "$stage"/stepscope/*.so
source scripts/bundle_libraries.sh
for file in $(find "$bundle/bin" "$bundle/lib" -type f); do carry "$file" programs "$bundle/lib"; done
carry_for_python "$stage/stepscope"
check_glibc "$MAX_GLIBC" "wheel.sh: the wheel"

wheel=$("$python" scripts/make_wheel.py "$stage" "$version" build/wheel)
note "$(du -sb "$stage" | cut -f1 | numfmt --to=iec) unpacked, $(stat -c %s "$wheel" | numfmt --to=iec) as $wheel"
if ((!check)); then exit 0; fi

say "Using it in a fresh environment"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel"
cd "$work"
try_python_package PATH="$work/venv/bin:/usr/bin:/bin" HOME="$work"
note "works"

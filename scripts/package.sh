#!/usr/bin/env bash
# Makes build/portable/stepscope-VERSION-linux-x86_64.tar.gz: the programs, the tracer, the Python package, the tests and every
# library they need beyond glibc and OpenGL, for any x86-64 Linux with glibc 2.36 or newer. Build it on Debian 12: the glibc of the machine that
# builds is the oldest one it runs with.
#
#   scripts/package.sh             build it
#   scripts/package.sh --check     build it and run it in an empty root with nothing but glibc
#   scripts/package.sh --deb       build/package/stepscope_VERSION_amd64.deb instead, for the Debian or Ubuntu of this machine
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

MAX_GLIBC=2.36
# Limit of the compressed part that a GPU machine is sent: everything but the viewer with its libraries, and the tests that need no GPU.
MAX_GPU_PART_BYTES=50000000

check=0
case ${1:-} in
  --check) check=1 ;;
  --deb)
    scripts/setup.sh
    say "Building build/release"
    configure release -DPython3_EXECUTABLE=/usr/bin/python3  # the one that finds the package
    build release
    cpack -G DEB --config build/release/CPackConfig.cmake -B build/package
    exit 0
    ;;
  "") ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac

scripts/setup.sh --package
say "Building build/portable"
configure portable
build portable
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' build/portable/CMakeCache.txt)
name=stepscope-$version-linux-x86_64
stage=build/portable/$name
rm -rf "$stage"
for component in programs api docs python tests; do
  cmake --install build/portable --prefix "$stage" --component "$component" --strip >/dev/null
done

say "Carrying libraries"
source scripts/bundle_libraries.sh
mkdir -p "$stage/lib"
package=$stage/lib/python3/dist-packages/stepscope
for file in $(elf_files); do
  if [[ $file != */stepscope-viewer && $file != "$package"/* ]]; then carry "$file" gpu; fi
done
has_python=0
if compgen -G "$package/_engine.*.so" >/dev/null; then
  has_python=1
  carry_for_python "$package"
else
  note "without the Python package: Python's headers or pybind11 were missing"
fi
if [[ -e $stage/bin/stepscope-viewer ]]; then
  carry "$stage/bin/stepscope-viewer" viewer
  # What GLFW opens by name when it makes a window.
  for library in libX11.so.6 libX11-xcb.so.1 libXcursor.so.1 libXi.so.6 libXinerama.so.1 libXrandr.so.2 libXrender.so.1 libXxf86vm.so.1; do
    path=$(ldconfig -p | sed -n "s|^[[:space:]]*${library//./\\.} (libc6,x86-64.*=> ||p" | head -n 1)
    if [[ -n $path && -z ${carried[$library]:-} ]]; then carry_file "$library" "$path" viewer; fi
  done
fi
for library in "${!carried[@]}"; do note "$(stat -c %s "$stage/lib/$library" | numfmt --to=iec) $library (${carried[$library]})"; done | sort -k2

say "Checking"
check_glibc "$MAX_GLIBC" "package.sh: the bundle"

tar -C build/portable --sort=name --owner=0 --group=0 --numeric-owner -czf "build/portable/$name.tar.gz" "$name"
# A GPU machine needs the marks of the Python package alone.
not_for_gpus=("$name/bin/stepscope-viewer" "$name/lib/python3/dist-packages/stepscope/_engine.*" "$name/lib/python3/dist-packages/stepscope/libs")
for test in "$stage"/tests/*; do
  case $(basename "$test") in
    cuda_tests | gpu) ;;
    *) not_for_gpus+=("$name/tests/$(basename "$test")") ;;
  esac
done
for library in "${!carried[@]}"; do
  if [[ ${carried[$library]} == viewer ]]; then not_for_gpus+=("$name/lib/$library"); fi
done
gpu_bytes=$(tar -C build/portable --sort=name "${not_for_gpus[@]/#/--exclude=}" -cz "$name" | wc -c)
note "$(du -sb "$stage" | cut -f1 | numfmt --to=iec) unpacked, $(stat -c %s "build/portable/$name.tar.gz" | numfmt --to=iec) as build/portable/$name.tar.gz"
note "$(numfmt --to=iec "$gpu_bytes") of it without the viewer and the tests that need no GPU: what a GPU machine needs (limit $(numfmt --to=iec $MAX_GPU_PART_BYTES))"
((gpu_bytes <= MAX_GPU_PART_BYTES)) || die "package.sh: the part that a GPU machine needs is too large"
if ((!check)); then exit 0; fi

say "Running the bundle where there is nothing but glibc"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{proc,dev,tmp,bin,lib64,lib/x86_64-linux-gnu,opt}
for library in ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libmvec.so.1 libdl.so.2 libpthread.so.0 librt.so.1; do
  cp -L "/lib/x86_64-linux-gnu/$library" "$root/lib/x86_64-linux-gnu/"
done
ln -s ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$root/lib64/ld-linux-x86-64.so.2"
tar -C "$root/opt" -xzf "build/portable/$name.tar.gz"
# in_root COMMAND…: with /proc and /dev, an empty environment and no other file of this system.
in_root() {
  env -i "$(command -v unshare)" --map-root-user --mount --pid --fork "$(command -v bash)" -c '
    PATH=/usr/sbin:/usr/bin:/sbin:/bin
    root=$1; shift
    mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec env -i "$(command -v chroot)" "$root" "$@"' _ "$root" "$@" </dev/null
}
program=/opt/$name/bin/stepscope
if ! in_root "$program" --version; then
  if ! env -i "$(command -v unshare)" --map-root-user --mount --pid --fork true 2>/dev/null; then
    echo "this machine gives out no user namespaces: the bundle was not run"
    exit 77
  fi
  die "package.sh: the bundle does not run in an empty root"
fi
in_root "$program" run cifar10 --device host:2 --batch 8 --steps 2
in_root "$program" profile cifar10 --device host:2 --batch 8 --steps 6 -o /tmp/run
in_root "$program" analyze /tmp/run >/dev/null
in_root "/opt/$name/bin/stepscope-viewer" --help >/dev/null
note "runs"
if ((has_python)); then
  say "Its Python package, on this machine without its environment"
  mkdir "$root/tmp/python"
  (cd "$root/tmp/python" && try_python_package PATH="$root/opt/$name/bin:/usr/bin:/bin" PYTHONPATH="$root/opt/$name/lib/python3/dist-packages")
fi
say "Its tests, on this machine without its environment"
env -i TMPDIR=/tmp "$root/opt/$name/tests/run.sh"

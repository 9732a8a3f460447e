#!/usr/bin/env bash
# Installs what Stepscope needs to build and run on Debian 12 and Ubuntu 24.04; does nothing, in well under a second, when
# nothing is missing. Uses sudo when not root.
#
#   scripts/setup.sh             what demo.sh and test.sh need (both call it)
#   scripts/setup.sh --ci        and what .ci/run needs: clang tools, ccache, mold, Slurm
#   scripts/setup.sh --package   and what package.sh needs
#   scripts/setup.sh --list      only prints what is missing
#
# STEPSCOPE_NO_SETUP=1 skips it: for machines whose packages somebody else looks after.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

list_only=0 want_ci=0 want_package=0
for argument in "$@"; do
  case $argument in
    --ci) want_ci=1 ;;
    --package) want_package=1 ;;
    --list) list_only=1 ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "setup.sh: unknown option '$argument', see scripts/setup.sh --help" ;;
  esac
done
if [[ ${STEPSCOPE_NO_SETUP:-0} == 1 ]]; then exit 0; fi

# program:package — any program of that name will do, however it was installed.
programs=(g++:g++ cmake:cmake ninja:ninja-build pkg-config:pkg-config node:nodejs npm:npm python3:python3
  xvfb-run:xvfb xauth:xauth protoc:protobuf-compiler)
libraries=(ca-certificates libdnnl-dev libimgui-dev libstb-dev libglfw3-dev libgl-dev libgl1-mesa-dri fonts-dejavu-core libzstd-dev libflatbuffers-dev libisal-dev libsqlite3-dev
  libxxhash-dev libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libexpected-dev libtbb-dev libopenmpi-dev openmpi-bin libgtest-dev libgmock-dev libbenchmark-dev
  libprotobuf-dev python3-dev pybind11-dev python3-numpy python3-pandas)
if ((want_ci)); then programs+=(clang++:clang clang-format-14:clang-format-14 clang-tidy-14:clang-tidy-14 ccache:ccache mold:mold
  munged:munge slurmctld:slurmctld slurmd:slurmd srun:slurm-client); fi
if ((want_package)); then programs+=(patchelf:patchelf file:file) libraries+=(python3-venv); fi

missing=()
for entry in "${programs[@]}"; do
  command -v "${entry%%:*}" >/dev/null || missing+=("${entry#*:}")
done
if command -v dpkg-query >/dev/null; then
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${libraries[@]}" 2>/dev/null | sed -n 's/^installed //p' || true)
  for library in "${libraries[@]}"; do
    grep -qx "$library" <<<"$installed" || missing+=("$library")
  done
fi
# libFuzzer and the sanitizers of clang are in a package of their own that clang only recommends.
if ((want_ci)) && command -v clang++ >/dev/null && ! compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a' >/dev/null &&
  ! compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer.a' >/dev/null; then
  missing+=("libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev")
fi
# The report page's test drives a browser. Ubuntu has Chromium only as a snap, which does not work in containers: there any
# Chrome or Chromium on the PATH is used, and without one that test is skipped.
system=$(. /etc/os-release 2>/dev/null && echo "${ID:-}")
if [[ $system == debian ]] && ! command -v chromium >/dev/null; then missing+=(chromium); fi

if ((${#missing[@]} == 0)); then exit 0; fi
if ((list_only)); then
  printf '%s\n' "${missing[@]}"
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  die "these programs are missing and this is no Debian or Ubuntu: ${missing[*]}. Install them, and the libraries that" \
    "docs/design/decisions/0002-dependencies.md names, with your package manager; then set STEPSCOPE_NO_SETUP=1"
fi
as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || die "packages are missing and there is no sudo. As root: apt-get install --no-install-recommends ${missing[*]}"
  as_root=(sudo)
fi
say "Installing ${#missing[@]} packages: ${missing[*]}"
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y -q --no-install-recommends "$@" </dev/null
}
# The package lists may be old or not there at all; a first try without updating them saves time when they are good.
if ! install "${missing[@]}" >/dev/null 2>&1; then
  "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=120 update -q </dev/null
  install "${missing[@]}" || die "apt-get could not install: ${missing[*]} (its reason is above)"
fi

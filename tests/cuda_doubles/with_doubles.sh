#!/usr/bin/env bash
# with_doubles.sh VENDOR_FOLDER COMMAND [argument…]: runs a command as on a machine with a GPU. The loader finds the doubles of
# NVIDIA's libraries. The command's /dev has the files of the kernel's driver, in a mount namespace that ends with it. Exit status 77,
# with the reason, where the system makes no such namespace.
set -euo pipefail
vendor=$(realpath "$1")
shift

# Without root a user namespace maps us to it.
unshare=(unshare --mount)
if ! "${unshare[@]}" true 2>/dev/null; then unshare=(unshare --map-root-user --mount); fi
if ! "${unshare[@]}" true 2>/dev/null; then
  echo "SKIPPED: this system lets this user make no mount namespace, in which /dev would have the files of a GPU"
  exit 77
fi

export LD_LIBRARY_PATH=$vendor${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# A toolkit's or Python's real libraries must not be found beside them.
unset CUDA_PATH CUDA_HOME
exec "${unshare[@]}" bash -c '
  set -eu
  made=$(mktemp -d)
  trap "rmdir $made 2>/dev/null || true" EXIT
  mount -t tmpfs none "$made"
  for device in null zero full random urandom tty; do
    touch "$made/$device"
    mount --bind "/dev/$device" "$made/$device"
  done
  for folder in pts shm; do
    mkdir "$made/$folder"
    mount --bind "/dev/$folder" "$made/$folder"
  done
  ln -s pts/ptmx "$made/ptmx"
  ln -s /proc/self/fd "$made/fd"
  for stream in stdin:0 stdout:1 stderr:2; do ln -s "fd/${stream#*:}" "$made/${stream%:*}"; done
  touch "$made/nvidia0" "$made/nvidiactl"
  mount --move "$made" /dev
  trap - EXIT
  rmdir "$made"
  exec "$@"' -- "$@"

# For scripts that make a bundle in $stage (sourced, never run): the libraries that programs need go to one folder, found by $ORIGIN.
# And what a bundle with the Python package is tried with.

# What every Linux brings: glibc, and OpenGL where there is a screen (it comes with the graphics driver). And MPI, which has to be
# that of the launcher: where there is none, libstepscope-mpi.so is not loaded.
system_libraries='^lib(mpi|mpi_cxx|open-rte|open-pal)\.so|^(ld-linux-x86-64|libc|libm|libmvec|libdl|libpthread|librt|libresolv|libutil|libanl|libnsl)\.so|^lib(GL|GLX|OpenGL|GLdispatch|EGL)\.so'
needed_by() { objdump -p "$1" | sed -n 's/^ *NEEDED *//p'; }
elf_files() { find "$stage" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' _ {} \; -print; }

# carry FILE FOR [FOLDER]: FILE's libraries and theirs go to FOLDER (default: $stage/lib), noted as being there for FOR.
declare -A carried=()
carry() {
  local library path needed folder=${3:-$stage/lib}
  needed=$(needed_by "$1") || die "what $1 needs cannot be read"
  for library in $needed; do
    if [[ $library =~ $system_libraries || -n ${carried[$library]:-} || -e $folder/$library ]]; then continue; fi
    path=$(ldconfig -p | sed -n "s|^[[:space:]]*${library//./\\.} (libc6,x86-64.*=> ||p" | head -n 1)
    [[ -n $path ]] || die "$1 needs $library, which is nowhere in ldconfig -p"
    carry_file "$library" "$path" "$2" "$folder"
  done
}
carry_file() {
  local folder=${4:-$stage/lib}
  carried[$1]=$3
  install -m 644 "$(readlink -f "$2")" "$folder/$1"
  strip --strip-unneeded "$folder/$1"
  patchelf --set-rpath '$ORIGIN' "$folder/$1"
  carry "$folder/$1" "$3" "$folder"
}

# carry_for_python PACKAGE: to PACKAGE/libs. The interpreter has one C++ library for all modules: that of the system. An older one
# of ours would break those that load later.
carry_for_python() (
  carried=()
  system_libraries+='|^lib(stdc\+\+|gcc_s)\.so'
  mkdir -p "$1/libs"
  carry "$(echo "$1"/_engine.*.so)" package "$1/libs"
)

# try_python_package VARIABLE=VALUE…: records, marks and reads in an environment of these variables alone, in the current folder.
try_python_package() {
  env -i "$@" sh -ec '
  stepscope --version
  stepscope record -o run -- python3 -c "
import stepscope
for batch in stepscope.steps(range(20)):
    with stepscope.phase(\"forward\"): sum(range(100_000))
"
  stepscope analyze run >/dev/null
  python3 -c "
import stepscope
run = stepscope.open(\"run\")
print(repr(run.analyze()))
print(run.query(\"select name, count(*) as n from events group by name order by n desc\").to_dicts())
"'
}

# check_glibc NEWEST WHAT: no file of the bundle needs a newer one.
check_glibc() {
  local worst
  worst=$(for file in $(elf_files); do objdump -T "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -u; done | sed 's/GLIBC_//' | sort -uV | tail -n 1)
  note "needs glibc $worst"
  [[ $(printf '%s\n%s\n' "$worst" "$1" | sort -V | tail -n 1) == "$1" ]] || die "$2 needs glibc $worst, more than $1: build it on Debian 12"
}

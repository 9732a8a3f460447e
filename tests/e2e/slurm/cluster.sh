#!/usr/bin/env bash
# A cluster of two nodes on this machine: Debian's munged, slurmctld and two slurmd of one user. They have a folder, ports and a key of their
# own. Nothing outside of it and a folder of sockets in /tmp is touched, and a Slurm that the machine runs already is left alone.
#
#   cluster.sh start FOLDER    waits until both nodes are idle; exit status 77 and the reason when this machine cannot run it
#   cluster.sh stop FOLDER
#
# After a start SLURM_CONF=FOLDER/slurm.conf makes srun, sbatch and squeue speak to it.
set -euo pipefail

folder=$(realpath -m "$2")
export SLURM_CONF=$folder/slurm.conf PATH=$PATH:/usr/sbin:/sbin

cannot() {
  printf '%s\n' "$*"
  stop
  exit 77
}

# Each daemon has written its process id, and removes it when it ends.
process_of() { cat "$1" 2>/dev/null || true; }

stop() {
  local file process
  for file in "$folder"/slurmd-*.pid "$folder"/slurmctld.pid "$folder"/munged.pid; do
    process=$(process_of "$file")
    if [[ -z $process ]]; then continue; fi

    kill "$process" 2>/dev/null || true
    # One that has ended has no program any more, even where its parent has not asked for its status.
    for _ in $(seq 100); do
      if ! readlink "/proc/$process/exe" >/dev/null; then break; fi
      sleep 0.1
    done
  done
  if [[ -s $folder/short ]]; then rm -rf "$(<"$folder/short")"; fi
}

free_ports() {
  python3 - <<'EOF'
import socket
sockets = [socket.socket() for _ in range(3)]
for one in sockets: one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))
EOF
}

write_configuration() {
  local controller first second user host
  read -r controller first second < <(free_ports)
  user=$(id -un)
  host=$(hostname)
  cat >"$SLURM_CONF" <<EOF
ClusterName=stepscope
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$short/munge
CredType=cred/munge
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation=$folder/state
SlurmdSpoolDir=$short/%n/spool
TmpFS=$short/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
NodeName=node-a NodeHostname=$host NodeAddr=127.0.0.1 Port=$first CPUs=2
NodeName=node-b NodeHostname=$host NodeAddr=127.0.0.1 Port=$second CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
EOF
}

start() {
  local program
  for program in munged slurmctld slurmd srun sinfo; do
    command -v "$program" >/dev/null || cannot "needs $program (apt: munge slurmctld slurmd slurm-client)"
  done

  # Names of sockets have 107 bytes at most. PMIx's folders have the same names on both nodes.
  short=$(mktemp -d /tmp/slurm.XXXXXX)
  mkdir -p "$folder/state" "$short/node-a" "$short/node-b"
  printf '%s' "$short" >"$folder/short"
  chmod 755 "$folder"
  write_configuration
  dd if=/dev/urandom of="$folder/munge.key" bs=64 count=1 status=none
  chmod 400 "$folder/munge.key"
  munged --force --key-file="$folder/munge.key" --socket="$short/munge" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" >"$folder/munged.out" 2>&1 ||
    cannot "munged does not start: $(tail -n 1 "$folder/munged.out")"

  slurmctld -c >"$folder/slurmctld.out" 2>&1 || cannot "slurmctld does not start: $(tail -n 1 "$folder/slurmctld.out")"
  for program in node-a node-b; do
    slurmd -N "$program" >"$folder/slurmd-$program.out" 2>&1 ||
      cannot "slurmd does not start: $(tail -n 1 "$folder/slurmd-$program.out")"
  done

  for _ in $(seq 300); do
    if [[ $(sinfo --noheader --states=idle --format=%D 2>/dev/null) == 2 ]]; then return; fi
    sleep 0.1
  done
  cannot "the nodes do not come up: $(sinfo --noheader 2>&1 | tail -n 1)"
}

"$1"

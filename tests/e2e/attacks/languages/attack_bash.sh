# What shell scripts do with descriptors, jobs and signals: attack_bash.sh CASE. The library that makes events is preloaded.
case $1 in
  descriptor)  # a log of its own on the lowest number
    exec 3>bash.log
    echo "line one" >&3
    sleep 0.7
    echo "line two" >&3
    exec 3>&-
    exec {free}>other.log
    echo "next $free"
    ;;
  background)
    for status in 3 4 5; do (sleep 0.05; exit "$status") & jobs+=("$!"); done
    for job in "${jobs[@]}"; do wait "$job"; echo "job $?"; done
    sleep 10 &
    kill "$!"
    wait "$!" 2>/dev/null
    echo "killed $?"
    ;;
  traps)
    trap 'echo "trap EXIT $?"' EXIT
    trap 'echo "trap USR1"' USR1
    kill -USR1 $$
    trap 'echo "trap TERM"; exit 7' TERM
    kill -TERM $$
    sleep 5
    ;;
  exec)
    exec sh -c 'echo executed; exit 21'
    ;;
  substitution)
    diff <(printf '1\n2\n') <(printf '1\n3\n')
    echo "differ $?"
    echo through | tee >(cat >tee.out) >/dev/null
    wait "$!"
    ;;
  pipeline)
    (exit 3) | (exit 4) | cat
    echo "status ${PIPESTATUS[*]}"
    yes | head -n 1
    echo "status ${PIPESTATUS[*]}"
    ;;
  limit)
    ulimit -n 10
    exec 4>a 5>b 6>c 7>d 8>e 9>f
    echo "on nine" >&9
    ls /proc/self/fd | wc -l
    ;;
  coprocess)
    coproc { read -r line; echo "answer $line"; exit 2; }
    child=$COPROC_PID
    echo question >&"${COPROC[1]}"
    read -r line <&"${COPROC[0]}"
    echo "$line"
    wait "$child"
    echo "ended $?"
    ;;
esac

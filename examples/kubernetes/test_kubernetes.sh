#!/usr/bin/env bash
# test_kubernetes.sh FOLDER: job.yaml is a job by the schema of Kubernetes, which refuses a broken one; trigger.sh asks the first pod that
# runs. FOLDER keeps the schema between runs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
mkdir -p "$folder"
cp "$here"/check/* "$folder"
if ! (cd "$folder" && { [[ -d node_modules/kubernetes-models ]] || npm ci --no-audit --no-fund >npm.log 2>&1; }); then
  echo "SKIPPED: npm cannot fetch the schema of Kubernetes: $(tail -n 1 "$folder/npm.log")"
  exit 77
fi

node "$folder/check_job.mjs" "$here/job.yaml"
for damage in 's/containers:/container:/' 's/completions: 2/completions: two/' 's/restartPolicy: Never/restartPolicy: 3/'; do
  sed "$damage" "$here/job.yaml" >"$folder/broken.yaml"
  if node "$folder/check_job.mjs" "$folder/broken.yaml" 2>"$folder/why.txt"; then
    echo "accepted after $damage"
    exit 1
  fi
done

# A cluster whose job has one pod that runs.
cat >"$folder/kubectl" <<'EOF'
#!/usr/bin/env bash
case $1 in
  get) [[ $* == *"--selector job-name=train "* ]] && printf train-1-abcde || true ;;
  exec) printf '%s\n' "$*" ;;
esac
EOF
chmod +x "$folder/kubectl"
asked=$(PATH=$folder:$PATH "$here/trigger.sh" train --steps 5)
[[ $asked == "exec train-1-abcde -- stepscope trigger /shared/run --steps 5" ]] || { echo "asked: $asked"; exit 1; }
if PATH=$folder:$PATH "$here/trigger.sh" other 2>"$folder/why.txt"; then
  echo "a job without pods was asked"
  exit 1
fi
grep -q "no pod of the job other is running" "$folder/why.txt"

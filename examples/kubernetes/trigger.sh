#!/usr/bin/env bash
# Asks the pods of a job (job.yaml) for steps, from wherever kubectl works: one of its pods asks for all.
#
#   ./trigger.sh JOB [options of stepscope trigger]
set -euo pipefail

job=$1
shift
pod=$(kubectl get pods --selector "job-name=$job" --field-selector status.phase=Running --output 'jsonpath={.items[0].metadata.name}')
if [[ -z $pod ]]; then
  echo "no pod of the job $job is running" >&2
  exit 2
fi
kubectl exec "$pod" -- stepscope trigger /shared/run "$@"

#!/bin/bash
# Deploys an IR image for every partition of a cluster that Slurm runs: a job array with one task for each.
#
#   ./deploy-partitions.sh IR_IMAGE PLACE [PARTITION...]
#   ./deploy-partitions.sh docker://registry.example.org/solver:ir docker://registry.example.org/site/solver
#   ./deploy-partitions.sh oci:/shared/solver:ir oci:/shared/site-solver thin fat
#
# A task describes a node of its partition (`srun xaas detect`, a job of its own, for which it waits), deploys for it, and writes
# PLACE:PARTITION. Partitions with
# equal nodes share one deployed image: `--reuse` finds in PLACE what another task has deployed. All partitions that are up, if
# none is named. The job's number is printed; logs and descriptions are xaas-JOB_TASK.log and .json.
#
# XAAS: the program, where it is not on the PATH; nodes must be able to run it. AT_ONCE: how many tasks at once; all, if it is not
# set. What jobs need besides (account, quality of service, reservation) goes into the two lines that follow.
job_options=(--time=60 --ntasks=1 --cpus-per-task=1)
node_options=(--time=5 --nodes=1 --ntasks=1)
set -euo pipefail
xaas=${XAAS:-xaas}

if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
  [ $# -ge 2 ] || { sed -n '4,6s/^# *//p' "$0" >&2; exit 2; }
  image=$1 place=$2
  shift 2
  [ $# -gt 0 ] || mapfile -t partitions < <(sinfo --noheader --format='%R %a' | sed -n 's/ up$//p' | sort -u)
  [ $# -eq 0 ] || partitions=("$@")
  [ ${#partitions[@]} -gt 0 ] || { echo "no partition is up" >&2; exit 1; }
  exec sbatch --parsable --job-name=xaas-deploy --array="0-$((${#partitions[@]} - 1))${AT_ONCE:+%$AT_ONCE}" --output='xaas-%A_%a.log' \
    "${job_options[@]}" "$0" "$image" "$place" "${partitions[@]}"
fi

image=$1 place=$2
shift 2
partitions=("$@")
partition=${partitions[SLURM_ARRAY_TASK_ID]}
system=xaas-${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID.json

# This task may run in another partition, and a step of it would run there, too: the node is described by a job of its own.
describe_node() (
  for variable in "${!SLURM_@}"; do
    [ "$variable" = SLURM_CONF ] || unset "$variable"
  done
  srun --partition="$partition" --job-name=xaas-detect "${node_options[@]}" "$xaas" detect --format json -q
)
echo "partition $partition"
describe_node >"$system"
"$xaas" deploy "$image" --system "$system" --reuse "$place" -o "$place:${partition//[^A-Za-z0-9_.-]/-}"

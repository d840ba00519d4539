#!/bin/bash
# Deploys an IR image for every partition of a Slurm cluster, with a job array of one task for each partition.
#
#   ./deploy-partitions.sh IR_IMAGE PLACE [PARTITION...]
#   ./deploy-partitions.sh docker://registry.example.org/solver:ir docker://registry.example.org/site/solver
#   ./deploy-partitions.sh oci:/shared/solver:ir oci:/shared/site-solver thin fat
#
# A task describes a node of its partition (`srun xaas detect`, in a job of its own, for which it waits), deploys for that node,
# and writes PLACE:PARTITION. Partitions with equal nodes share one deployed image: `--reuse` finds in PLACE what another task has
# deployed. Without PARTITION, all partitions that are up. Prints the job number; logs and descriptions are xaas-JOB_TASK.log
# and xaas-JOB_TASK.json.
#
# XAAS: the program, if it is not on PATH; nodes must be able to run it. AT_ONCE: the number of tasks that run at the same time;
# default: all. Put other options of jobs (account, quality of service, reservation) into the next two lines.
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

# This task may run in another partition, and so would a step of it: a job of its own describes the node.
describe_node() (
  for variable in "${!SLURM_@}"; do
    [ "$variable" = SLURM_CONF ] || unset "$variable"
  done
  srun --partition="$partition" --job-name=xaas-detect "${node_options[@]}" "$xaas" detect --format json -q
)
echo "partition $partition"
describe_node >"$system"
"$xaas" deploy "$image" --system "$system" --reuse "$place" -o "$place:${partition//[^A-Za-z0-9_.-]/-}"

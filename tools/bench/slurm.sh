#!/bin/bash
# Batch jobs of Slurm: `xaas detect` describes the node of its job, examples/slurm deploys for every partition, and `xaas run`
# works in a job. Starts a Slurm of one node on the loopback (munge, slurmctld and slurmd with files below a temporary
# directory), runs detect with srun and sbatch, checks its output, deploys an example for both partitions, runs images as ranks,
# with signals and exit codes, and one image for two partitions whose nodes have different CPUs, which QEMU emulates; and removes
# everything. Needs root and Slurm (Debian: slurm-wlm, munge); skipped without them, with exit code 77.
#
# Slurm's plugins for control groups are off because a container cannot delegate any.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
xaas=$(realpath "${XAAS:-$root/build/release/bin/xaas}")

skip() { echo "SKIPPED: $*"; exit 77; }
die() { echo "FAILED: $*" >&2; exit 1; }

[ -x "$xaas" ] || die "no program at $xaas: build it, or set XAAS"
for tool in munged slurmctld slurmd srun sbatch sinfo jq; do
  PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || skip "$tool is not installed"
done
[ "$(id -u)" -eq 0 ] || skip "slurmd needs root"
PATH=$PATH:/usr/sbin

work=$(mktemp -d "${TMPDIR:-/tmp}/xaas-slurm-XXXXXX")
processes=()
finish() {
  local code=$? process
  [ $code -eq 0 ] || tail -n 20 "$work"/*.log "$work"/site/*.log >&2 || true
  if [ -S "$work/munge/socket" ]; then # jobs end before what they talk to
    timeout 10 scancel --user=root --quiet || true
    timeout 20 bash -c 'while [ -n "$(squeue --noheader)" ]; do sleep 0.2; done' || true
  fi
  for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
  for process in "${processes[@]}"; do wait "$process" 2>/dev/null || true; done
  rm -rf "$work"
  exit $code
}
trap finish EXIT
started() { # LOG COMMAND...: in the background, until the end
  "${@:2}" >"$work/$1.log" 2>&1 &
  processes+=($!)
}
until_true() { # WHAT COMMAND...: within half a minute
  local i
  for ((i = 0; i < 150; ++i)); do
    "${@:2}" >/dev/null 2>&1 && return
    sleep 0.2
  done
  die "no $1"
}

host=$(hostname -s)
port=$((20000 + RANDOM % 10000))
mkdir -m 755 "$work/munge" "$work/state" "$work/spool"
chmod 755 "$work"
(umask 077 && head -c 1024 /dev/urandom >"$work/munge/key")
cat >"$work/slurm.conf" <<END
ClusterName=xaas
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName=xaasnode NodeHostname=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=ordinary Nodes=ALL Default=YES State=UP
PartitionName=special Nodes=ALL State=UP
END
export SLURM_CONF=$work/slurm.conf

started munge munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" \
  --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed"
until_true "socket of munge" test -S "$work/munge/socket"
started slurmctld slurmctld -D -f "$SLURM_CONF"
started slurmd slurmd -D -f "$SLURM_CONF" -N xaasnode
node_is_idle() { [ "$(sinfo --noheader --partition=ordinary --format=%T)" = idle ]; }
until_true "idle node" node_is_idle
echo "running: $(slurmd -V), port $port"

holds() { # FILE FILTER
  jq -e "$2" "$1" >/dev/null || die "$1: not true: $2; batch: $(jq -c .batch "$1"), evidence: $(jq -c .evidence "$1")"
}

# Outside of a job: the batch system is there, by its programs.
"$xaas" detect --format json -q >"$work/login.json"
holds "$work/login.json" '.batch == {system: "slurm", job: null, partition: null} and (.evidence["batch.system"] | endswith("/sinfo"))'

# srun: the job's number is Slurm's.
# shellcheck disable=SC2016
timeout 60 srun --partition=special bash -c 'echo "$SLURM_JOB_ID" >"$1/srun.id"; exec "$2" detect --format json -q' - "$work" "$xaas" >"$work/srun.json"
# sbatch, in the default partition
cat >"$work/job.sh" <<END
#!/bin/bash
"$xaas" detect --format json -q -o "$work/sbatch.json"
END
id=$(timeout 60 sbatch --wait --parsable --chdir="$work" --output="$work/sbatch.log" "$work/job.sh")

check() { # NAME ID PARTITION
  holds "$work/$1.json" '.batch == {system: "slurm", job: "'"$2"'", partition: "'"$3"'"}'
  holds "$work/$1.json" '.evidence["batch.job"] == "$SLURM_JOB_ID" and .evidence["batch.partition"] == "$SLURM_JOB_PARTITION"'
  # The node, which is this machine.
  [ "$(jq -Sc '[.arch, .cpu, .memory_bytes, .gpus, .kernel, .os, .glibc]' "$work/$1.json")" = \
    "$(jq -Sc '[.arch, .cpu, .memory_bytes, .gpus, .kernel, .os, .glibc]' "$work/login.json")" ] ||
    die "$1 does not describe the node that it ran on"
  echo "ok: $1: $(jq -c .batch "$work/$1.json"), $(jq -r '.cpu.name' "$work/$1.json")"
}
check srun "$(cat "$work/srun.id")" special
check sbatch "$id" ordinary

# examples/slurm: a job array with a task for each partition; the second finds what the first has deployed, for they have one
# node.
"$xaas" build "$root/examples/soft-spheres" -o "oci:$work/spheres:ir" -q >/dev/null
mkdir "$work/site"
cd "$work/site"
id=$(XAAS=$xaas AT_ONCE=1 "$root/examples/slurm/deploy-partitions.sh" "oci:$work/spheres:ir" "oci:$work/place")
has_ended() { [ -z "$(squeue --noheader --jobs="$id")" ]; }
for ((i = 0; i < 120; ++i)); do ! has_ended || break; sleep 1; done
has_ended || die "the job array does not end: $(squeue)"
cat xaas-"$id"_*.log
partitions=(ordinary special)
for task in 0 1; do
  partition=${partitions[task]}
  [ "$(jq -r .batch.partition "xaas-${id}_$task.json")" = "$partition" ] || die "task $task did not describe a node of $partition"
  [ "$(jq -r .batch.job "xaas-${id}_$task.json")" != "$id" ] || die "task $task described its own node"
done
"$xaas" deploy "oci:$work/spheres:ir" -o "oci:$work/apart:here" --format json -q >apart.json
digest=$(jq -er .digest apart.json)
tags=$(jq -r '.manifests[] | select(.digest == "'"$digest"'") | .annotations["org.opencontainers.image.ref.name"]' "$work/place/index.json" | sort | tr '\n' ' ')
[[ $tags =~ ^ordinary\ special\ xaas-[0-9a-f]{40}\ $ ]] || die "tags of $digest: $tags; $(cat "$work/place/index.json")"
grep -q '^objects .* 2 links' "xaas-${id}_0.log" || die "the first task did not deploy: $(cat "xaas-${id}_0.log")"
grep -q "^reused  *oci:$work/place:xaas-" "xaas-${id}_1.log" || die "the second task did not reuse: $(cat "xaas-${id}_1.log")"
echo "ok: deploy-partitions.sh: tags $tags"
cd /

# Images in jobs: ranks with the host's MPI, a signal, an exit code.
XAAS=$xaas
fail() { die "$@"; }
# shellcheck source=tests/e2e/probe.sh
source "$root/tests/e2e/probe.sh"
export XAAS_CACHE_DIR=$work/cache
mkdir "$work/run" && cd "$work/run"
mpicc=mpicc
! command -v mpicc.mpich >/dev/null || mpicc=mpicc.mpich
for tool in clang-22 make bwrap "$mpicc"; do
  command -v "$tool" >/dev/null || { echo "not run: images in jobs ($tool is not installed)"; exit 0; }
done
probe_image app
mkdir ranks
cat >ranks/ranks.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, ranks, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&(int){rank + 1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) printf("%d of %d\n", sum, ranks);
  return 0;
}
END
printf 'ranks: ranks.c\n\t$(CC) -O1 -o $@ $^\ninstall: ranks\n\tinstall -D ranks $(DESTDIR)$(PREFIX)/bin/ranks\n' >ranks/Makefile
cat >ranks/xaas.json <<END
{"name": "ranks", "build": {"system": "make", "arguments": ["CC=$mpicc"]}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/ranks"]}}
END
"$xaas" build ranks -o oci:mpi:ir -q >/dev/null
"$xaas" deploy oci:mpi:ir -o oci:mpi:here -q >/dev/null
for runtime in bwrap charliecloud; do
  [ $runtime = bwrap ] || command -v ch-run >/dev/null || continue
  eval "$("$xaas" run oci:mpi:here --print --launcher srun --ranks 2 --runtime $runtime -q)" >ranks.out
  [ "$(cat ranks.out)" = "3 of 2" ] || die "ranks with $runtime: $(cat ranks.out)"
  echo "ok: two ranks, $runtime: $("$xaas" run oci:mpi:here --print --launcher srun --ranks 2 --runtime $runtime -q)"

  code=0
  srun -n 1 "$xaas" run -q --runtime $runtime oci:app:here -- exit 5 2>/dev/null || code=$?
  [ $code -eq 5 ] || die "exit code $code with $runtime"
  echo "ok: exit code of a job, $runtime"
  # Without control groups Slurm signals every process of a job, also bwrap's own, which ends of it (docs/running.md).
  [ $runtime != bwrap ] || continue
  srun -n 1 --job-name=$runtime "$xaas" run -q --runtime $runtime oci:app:here -- wait >wait.out 2>/dev/null &
  step=$!
  until_said ready wait.out
  job=$(squeue --noheader --name=$runtime --format=%i)
  scancel --signal=USR1 "$job"
  until_said usr1 wait.out
  scancel --signal=TERM "$job"
  until_said saved wait.out
  wait $step || true
  echo "ok: signals of a job, $runtime ($(grep -c usr1 wait.out) SIGUSR1)"
done

# One image for both partitions, whose nodes have different CPUs: xaas asks an emulated one, and starts programs on the real one.
command -v qemu-x86_64 >/dev/null || { echo "not run: partitions with different CPUs (qemu-x86_64 is not installed)"; exit 0; }
export XDG_CONFIG_HOME=$work/config
declare -A cpus=([ordinary]=Nehalem [special]=Haswell)
for partition in "${!cpus[@]}"; do
  "$xaas" detect --cpu "${cpus[$partition],,}" --save "$partition" -q >/dev/null
done
"$xaas" deploy "oci:$work/spheres:ir" --all-machines -o "oci:$work/place:all" --format json -q >all.json
on() { # PARTITION ARGUMENT...: `xaas run` on a node of it
  timeout 300 srun --partition="$1" qemu-x86_64 -cpu "${cpus[$1]}" "$xaas" run --runtime bwrap "${@:2}"
}
for partition in ordinary special; do
  cpu=${cpus[$partition],,}
  digest=$(jq -er '.images[] | select(.target.cpu == "'"$cpu"'") | .digest' all.json)
  on $partition --print "oci:$work/place:all" >line.txt 2>run.log || die "no line on $partition: $(cat run.log)"
  grep -qF "/trees/${digest#sha256:}" line.txt || die "a job on $partition does not run $digest, for $cpu: $(cat line.txt)"
  on $partition -q "oci:$work/place:all" >$partition.out 2>run.log || die "a job on $partition: $(cat run.log)"
  [ -s $partition.out ] || die "a job on $partition printed nothing"
  echo "ok: a job on $partition runs the image for $cpu"
done
cat >rank.sh <<'END'
#!/bin/bash
cpus=(Haswell Nehalem)
exec qemu-x86_64 -cpu "${cpus[SLURM_PROCID % 2]}" "$1" run --runtime bwrap "$2"
END
chmod 755 rank.sh
timeout 300 srun -n 2 --mpi=pmi2 ./rank.sh "$xaas" "oci:$work/place:all" >ranks.out 2>ranks.log || die "ranks of both kinds: $(cat ranks.log)"
[ "$(grep -c 'ranks of this job run different images' ranks.log)" = 1 ] || die "ranks of both kinds are not told once: $(cat ranks.log)"
echo "ok: ranks of both kinds: $(grep 'different images' ranks.log)"

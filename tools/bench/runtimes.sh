#!/bin/bash
# Container runtimes, of Debian 12, 13 and sid, each in a root of its own, and of Debian 12 on an emulated AArch64 machine, as root and
# as an ordinary user. `xaas run` with each kind of image passes the checks of tests/e2e/probe.sh (arguments, files, environment,
# signals, exit code) or, with MPI, starts two ranks with the library of the image and with that of the machine. Installed programs
# start a container. And without xaas: the runtimes' own commands, and clients of registries.
#
#   tools/bench/runtimes.sh [--build DIRECTORY] [--write] [bookworm|trixie|sid|aarch64|docker]...     all, if none is named
#
# --build   of the program; build/release, if none is named
# --write   puts the tables in the place of those in docs/running.md
#
# A cell that fails is in the table, with its log, and the script fails at the end; the next run repeats only such cells. Needs root,
# mmdebstrap, archives of these suites, and a kernel that gives users namespaces. Roots are kept: lib.sh.
# shellcheck disable=SC1091,SC2031 # files of the end-to-end tests, in a subshell
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/machine.sh"
build=$root/build/release write=no systems=()
while [ $# -gt 0 ]; do
  case "$1" in
  --build) build=$(realpath "$2"); shift ;;
  --write) write=yes ;;
  bookworm | trixie | sid | aarch64 | docker) systems+=("$1") ;;
  *) echo "usage: $0 [--build DIRECTORY] [--write] [bookworm|trixie|sid|aarch64|docker]..." >&2; exit 2 ;;
  esac
  shift
done
[ ${#systems[@]} -gt 0 ] || systems=(bookworm trixie sid aarch64 docker)
wanted() { case " ${systems[*]} " in *" $1 "*) ;; *) return 1 ;; esac; } # SYSTEM
suites=() # with roots here
for suite in bookworm trixie sid; do ! wanted $suite || suites+=("$suite"); done
xaas=$build/bin/xaas
[ "$(id -u)" -eq 0 ] || die "needs root"
open_bench
packages "${machine_packages[@]}" skopeo docker-registry docker.io mpich libmpich-dev pkg-config squashfs-tools

here=$work/runtimes/$program
mkdir -p "$here/cells"
once "$here/xaas.tar.gz" "$root/tools/make-archive.sh" "$build" >"$here/archive.log" 2>&1 || die "no archive: $here/archive.log"
common=procps,mpich,squashfs-tools,bubblewrap,podman,uidmap,charliecloud,runc,skopeo
for suite in "${suites[@]}"; do
  more=$common
  [ "$suite" = bookworm ] || more+=,oras
  [ "$suite" != sid ] || more+=,crane,apptainer
  once "$work/roots/runtimes-$suite" debian_root "$suite" "$more"
done

say images
images() ( # COMMAND TARGETS DIRECTORY
  mkdir "$3"
  cd "$3"
  export E2E=$root/tests/e2e XAAS=$1 XAAS_CACHE_DIR=$work/cache
  source "$E2E/lib.sh"
  source "$E2E/probe.sh"
  probe_image app
  "$XAAS" deploy oci:app:ir --cpu "$2" -o oci:app:targets -q >/dev/null
  "$XAAS" deploy oci:app:ir --cpu "$2" -o rootfs:tree-of-targets -q >/dev/null
  "$xaas" copy oci:app:here rootfs:tree -q >/dev/null
  "$xaas" copy oci:app:here squashfs:app.sqfs -q >/dev/null
  "$xaas" copy oci:app:here oci-archive:app.tar:here -q >/dev/null
  "$xaas" copy oci:app:here oci:alone:here -q >/dev/null # Apptainer takes no tag after the path of a layout
  mkdir ranks
  cat >ranks/ranks.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  static char sent[4 << 20], got[sizeof sent];
  int rank, ranks, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&(int){rank + 1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  memset(sent, rank + 1, sizeof sent);
  MPI_Sendrecv(sent, sizeof sent, MPI_CHAR, 1 - rank, 0, got, sizeof got, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) printf("ranks %d sum %d got %d\n", ranks, sum, got[sizeof got - 1]);
  MPI_Finalize();
  return 0;
}
END
  printf 'ranks: ranks.c\n\t$(CC) -O1 -o $@ $^ $$(pkg-config --cflags --libs mpich)\ninstall: ranks\n\tinstall -D ranks $(DESTDIR)$(PREFIX)/bin/ranks\n' >ranks/Makefile
  echo '{"name": "ranks", "build": {"system": "make"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/ranks"]}}' >ranks/xaas.json
  "$XAAS" build ranks -o oci:ranks-image:ir -q >/dev/null
  "$XAAS" deploy oci:ranks-image:ir -o oci:ranks-image:here -q >/dev/null
)
once "$here/images" images "$xaas" haswell,x86-64
from_source() ( # DIRECTORY: the same program, built by deploying
  mkdir "$1"
  cd "$1"
  jq '.toolchain = {packages: ["gcc", "libc6-dev", "make"]}' "$here/images/probe/xaas.json" >xaas.json
  "$xaas" build xaas.json --source "$here/images/probe" --kind source -o oci:source:src -q >/dev/null
  XAAS_CACHE_DIR=$work/cache "$xaas" deploy oci:source:src -o oci:app:here -q >/dev/null
)
once "$here/images/from-source" from_source
if wanted aarch64; then
  # shellcheck disable=SC2119
  aarch64_program
  once "$work/kernel" aarch64_kernel
  once "$work/system" aarch64_system
  cat >"$here/for-aarch64" <<END
#!/bin/bash
case "\$*" in
build*) exec "$xaas" "\$@" --arch aarch64 --sysroot "$work/system" ;;
deploy*--cpu*) exec "$xaas" "\$@" ;;
deploy*) exec "$xaas" "\$@" --cpu cortex-a72 ;;
*) exec "$xaas" "\$@" ;;
esac
END
  chmod 755 "$here/for-aarch64"
  once "$here/images-aarch64" images "$here/for-aarch64" neoverse-n1,cortex-a72
fi

# cell RUNTIME KIND, in a root: the last line is the result.
cat >"$here/cell.sh" <<'END'
set -euo pipefail
runtime=$1 kind=$2
export PODMAN_IGNORE_CGROUPSV1_WARNING=1
export E2E=/bench/e2e XAAS=/bench/bin/xaas XAAS_CACHE_DIR=$HOME/cache
source "$E2E/lib.sh"
source "$E2E/probe.sh"
rm -rf "$HOME/work" && mkdir -p "$HOME/work" "$HOME/bin"
cd "$HOME/work"
run=("$XAAS" run -q --runtime "$runtime")
case $runtime in
podman) # whose state must not lie on an overlay file system; crun does not start where control groups are of both versions
  state=$(mktemp -d /tmp/xaas-podman-XXXXXX)
  trap 'rm -rf "$state"' EXIT
  printf '#!/bin/sh\nexec /usr/bin/podman --root %s --runroot %s --storage-driver vfs "$@"\n' "$state/storage" "$state/run" >"$HOME/bin/podman"
  chmod 755 "$HOME/bin/podman"
  PATH=$HOME/bin:$PATH
  run+=(--runtime-option=--runtime=runc --runtime-option=--ulimit=nofile=1024:1024 --runtime-option=--ulimit=nproc=1000:1000)
  ignored_stays=no # it handles all signals
  ;;
apptainer) ignored_stays=no ;; # it handles SIGHUP
esac
usable() { # IMAGE: exit 8 means that the runtime does not work here; and as root Apptainer wants every capability
  local code=0
  "${run[@]}" "$1" -- >usable.log 2>&1 || code=$?
  ! grep -q 'Requesting capability set' usable.log || { echo "skipped: $(sed 's/.*ERROR *: *//' usable.log | head -n 1)"; exit 0; }
  [ $code -ne 8 ] || { echo "skipped: $(grep -m1 -o "$runtime.*" usable.log || head -n 1 usable.log)"; exit 0; }
}
own_tree() { # TREE: mount points are made in it
  tree=$HOME/$runtime-$kind # of its own: a runtime may leave files of other users there
  rm -rf "$tree"
  cp -r "$1" "$tree"
}
usable oci:/bench/images/app:here
case $kind in
image) check_probe "${run[@]}" oci:/bench/images/app:here; [ "$runtime" = podman ] || check_killed "${run[@]}" oci:/bench/images/app:here ;;
source)
  [ -d /bench/images/from-source ] || { echo "skipped: source images are built on the machine that runs them"; exit 0; }
  check_probe "${run[@]}" oci:/bench/images/from-source/app:here
  ;;
targets) check_probe "${run[@]}" oci:/bench/images/app:targets ;;
tree) own_tree /bench/images/tree; check_probe "${run[@]}" "rootfs:$tree" ;;
tree-of-targets) own_tree /bench/images/tree-of-targets; check_probe "${run[@]}" "rootfs:$tree" ;;
squashfs) check_probe "${run[@]}" squashfs:/bench/images/app.sqfs ;;
installed)
  rm -rf "$HOME/prefix"
  "$XAAS" install oci:/bench/images/app:here --prefix "$HOME/prefix" --container always --runtime "$runtime" --bind "$HOME" -q >install.log 2>&1 || {
    echo "skipped: $(grep -m1 error install.log | cut -c1-120)"
    exit 0
  }
  says '[a][b c]' "$HOME/prefix/bin/probe" a 'b c'
  says image env OF_BOTH=host "$HOME/prefix/bin/probe" env OF_BOTH
  says "$PWD" "$HOME/prefix/bin/probe" cwd
  expect_exit 5 "$HOME/prefix/bin/probe" exit 5
  ;;
ranks-image | ranks-host)
  code=0
  "${run[@]}" --mpi "${kind#ranks-}" oci:/bench/images/ranks-image:here --print >print.log 2>&1 || code=$?
  [ $code -ne 3 ] || { echo "refused: $(grep -o -m1 "the host's C library is newer" print.log || head -n 1 print.log)"; exit 0; }
  expect_equal ranks "$(mpirun -n 2 "${run[@]}" --mpi "${kind#ranks-}" oci:/bench/images/ranks-image:here 2>ranks.err)" "ranks 2 sum 3 got 2"
  ;;
esac
echo ok
END

prepare_root() { # ROOT ARCHIVE IMAGES
  rm -rf "$1/bench"
  mkdir -p "$1/bench/home" "$1/bench/e2e"
  cp "$root/tests/e2e/lib.sh" "$root/tests/e2e/probe.sh" "$1/bench/e2e/"
  tar -xzf "$2" -C "$1/bench" --strip-components=1
  cp -r "$3" "$1/bench/images"
  cp "$here/cell.sh" "$1/bench/"
  chmod -R a+rX "$1/bench"
  chown -R 65534:65534 "$1/bench/home"
  for file in subuid subgid; do echo nobody:100000:65536 >"$1/etc/$file"; done # for Podman without root
}
version_of() { # ROOT RUNTIME
  case $2 in
  charliecloud) in_root "$1" ch-run --version 2>&1 | grep -oE '[0-9]+\.[0-9.]+' | head -n 1 ;;
  *) in_root "$1" "$2" --version 2>&1 | grep -oE '[0-9]+\.[0-9.]+' | head -n 1 ;;
  esac
}
failed=0
result_of() { # LOG: a cell of the table
  local last
  last=$(tail -n 1 "$1")
  case $last in
  ok) echo yes ;;
  skipped:*) echo "not usable" ;;
  refused:*) echo "${last#refused: }" ;;
  *) echo FAILED ;;
  esac
}
kinds=(image source targets tree tree-of-targets squashfs installed ranks-image ranks-host)
table=$here/runs.md notes=$here/notes
{
  echo "| system | runtime | user | image | built from source | index of targets | tree | tree of targets | squashfs | installed | MPI of the image | MPI of the machine |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
} >"$table"
: >"$notes"
declare -A named=([bookworm]="Debian 12" [trixie]="Debian 13" [sid]="Debian sid" [aarch64]="Debian 12, AArch64")
passed() { [ "$(tail -n 1 "$1" 2>/dev/null)" = ok ]; } # LOG
# All cells of the emulated machine that did not pass before run in one start of it.
run_machine_cells() {
  local top=$here/machine runtime user kind cells=()
  for runtime in charliecloud bwrap; do
    for user in root user; do
      for kind in "${kinds[@]}"; do passed "$here/cells/aarch64-$runtime-$user-$kind.log" || cells+=("$runtime-$user-$kind"); done
    done
  done
  [ ${#cells[@]} -gt 0 ] || return 0
  rm -rf "$top"
  cp -r "$work/system" "$top"
  prepare_root "$top" "$work/aarch64.tar.gz" "$here/images-aarch64"
  {
    declare -p cells
    cat <<'END'
ch-run --version >/bench/out/charliecloud 2>&1
bwrap --version >/bench/out/bwrap
for cell in "${cells[@]}"; do
  IFS=- read -r runtime user kind <<<"$cell"
  enter=(env)
  [ $user = root ] || enter=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/bench/home USER=nobody)
  cd /
  timeout 900 "${enter[@]}" bash /bench/cell.sh "$runtime" "$kind" >"/bench/out/aarch64-$cell.log" 2>&1 </dev/null ||
    echo "exit code $?" >>"/bench/out/aarch64-$cell.log"
  echo "$cell: $(tail -n 1 "/bench/out/aarch64-$cell.log")"
done
END
  } >"$top/bench/start"
  machine_limit=7200 run_system "$here/machine.log" "$top"
  rm -rf "$top"
  cp "$here/machine.log.out"/*.log "$here/cells/"
}
! wanted aarch64 || run_machine_cells
for suite in "${suites[@]}" $(! wanted aarch64 || echo aarch64); do
  top=$work/roots/runtimes-$suite
  [ "$suite" = aarch64 ] || prepare_root "$top" "$here/xaas.tar.gz" "$here/images"
  for runtime in apptainer charliecloud bwrap podman; do
    [ "$suite" = sid ] || [ $runtime != apptainer ] || continue
    if [ "$suite" = aarch64 ]; then
      [ $runtime != podman ] || continue
      version=$(grep -oE '[0-9]+\.[0-9.]+' "$here/machine.log.out/$runtime" | head -n 1)
    else
      version=$(version_of "$top" $runtime)
    fi
    for user in root user; do
      row="| ${named[$suite]} | $runtime $version | $user |"
      for kind in "${kinds[@]}"; do
        log=$here/cells/$suite-$runtime-$user-$kind.log
        enter=in_root
        [ $user = user ] || enter=in_root_as_root
        # The first process of a namespace must take care of orphans, which timeout does not.
        [ "$suite" = aarch64 ] || passed "$log" ||
          $enter "$top" bash -c 'timeout 300 bash /bench/cell.sh "$@"; exit $?' - $runtime "$kind" >"$log" 2>&1 </dev/null || echo "exit code $?" >>"$log"
        result=$(result_of "$log")
        row+=" $result |"
        case $result in
        FAILED) failed=$((failed + 1)); echo "$suite $runtime $user $kind: $(grep -m1 FAILED "$log" || tail -n 1 "$log"): $log" >>"$notes" ;;
        yes) ;;
        *) echo "$suite $runtime $user $kind: $(tail -n 1 "$log")" >>"$notes" ;;
        esac
      done
      echo "$row" | tee -a "$table"
    done
  done
done

say "without xaas"
state=$(mktemp -d /tmp/xaas-runtimes-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$state"' EXIT
port=$((20000 + RANDOM % 20000))
printf 'version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: 127.0.0.1:%s\n' "$state/registry" $port >"$state/registry.yml"
docker-registry serve "$state/registry.yml" >"$state/registry.log" 2>&1 &
for ((i = 0; i < 100; ++i)); do curl -fs "http://127.0.0.1:$port/v2/" >/dev/null && break || sleep 0.1; done
for tag in here targets; do XAAS_CACHE_DIR=$work/cache "$xaas" copy "oci:$here/images/app:$tag" "docker://127.0.0.1:$port/app:$tag" -q >/dev/null; done
own=$here/own.md
printf '| system | command | result |\n|---|---|---|\n' >"$own"
own_form() { # SYSTEM ENTER COMMAND...: prints [a], or pulls; TEXT of the command for the table in $shown
  local log=$here/cells/own-$((++count)).log result=yes
  if ! "${@:2}" >"$log" 2>&1 </dev/null; then
    result=FAILED failed=$((failed + 1))
    echo "without xaas, $1, $shown: $(tail -n 1 "$log"): $log" >>"$notes"
  fi
  echo "| $1 | \`$shown\` | $result |" | tee -a "$own"
}
count=0
in_shell() { in_root "$top" bash -euc "cd; $1"; }
in_root_shell() { in_root_as_root "$top" bash -euc "cd; $1"; }
for suite in "${suites[@]}"; do
  top=$work/roots/runtimes-$suite
  podman="podman --root /tmp/own-podman/s --runroot /tmp/own-podman/r --storage-driver vfs"
  for tag in here targets; do
    shown="podman run docker://REGISTRY/app:$tag (root)"
    own_form "${named[$suite]}" in_root_shell "trap 'rm -rf /tmp/own-podman || true' EXIT; $podman pull -q --tls-verify=false 127.0.0.1:$port/app:$tag; [ \"\$($podman run --rm --runtime runc \
      --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network=none 127.0.0.1:$port/app:$tag a)\" = '[a]' ]"
    shown="skopeo copy docker://REGISTRY/app:$tag oci:"
    own_form "${named[$suite]}" in_shell "rm -rf pulled; skopeo copy -q --src-tls-verify=false docker://127.0.0.1:$port/app:$tag oci:pulled:x"
    [ "$suite" != sid ] || {
      shown="crane pull REGISTRY/app:$tag"
      own_form "${named[$suite]}" in_shell "crane pull --insecure 127.0.0.1:$port/app:$tag pulled.tar"
    }
    [ "$suite" = bookworm ] || {
      shown="oras copy REGISTRY/app:$tag --to-oci-layout"
      own_form "${named[$suite]}" in_shell "rm -rf pulled; oras copy --from-plain-http 127.0.0.1:$port/app:$tag --to-oci-layout pulled:x"
    }
  done
  shown="ch-run TREE -- PROGRAM"
  own_form "${named[$suite]}" in_shell "[ \"\$(ch-run /bench/images/tree -- /usr/local/bin/probe a)\" = '[a]' ]"
  if [ "$suite" = sid ]; then
    for image in oci:/bench/images/alone oci-archive:/bench/images/app.tar /bench/images/app.sqfs "docker://127.0.0.1:$port/app:here" "docker://127.0.0.1:$port/app:targets"; do
      shown="apptainer exec $(sed -E 's#/bench/images/##; s#127.0.0.1:[0-9]+#REGISTRY#' <<<"$image")"
      own_form "${named[$suite]}" in_shell "rm -rf .apptainer; [ \"\$(APPTAINER_NOHTTPS=1 apptainer --quiet exec $image /usr/local/bin/probe a)\" = '[a]' ]"
    done
  fi
done
if wanted docker; then
  dockerd --iptables=false --ip6tables=false --bridge=none --storage-driver=vfs --data-root "$state/docker.data" --exec-root "$state/docker" \
    --pidfile "$state/docker.pid" -H "unix://$state/docker.sock" >"$here/dockerd.log" 2>&1 &
  with_docker() { docker -H "unix://$state/docker.sock" "$@"; }
  for ((i = 0; i < 300; ++i)); do with_docker version >/dev/null 2>&1 && break || sleep 0.2; done
  by_docker() { # TAG
    with_docker pull -q "127.0.0.1:$port/app:$1" && [ "$(with_docker run --rm --network=none "127.0.0.1:$port/app:$1" a)" = '[a]' ]
  }
  with_registry_user() { # an ordinary user in the container, a signal, an exit code
    local code=0 container
    [ "$(with_docker run --rm --network=none --user 65534:65534 "127.0.0.1:$port/app:here" uid)" = "65534 65534" ] || return # no `set -e` in a condition
    with_docker run --rm --network=none "127.0.0.1:$port/app:here" exit 5 || code=$?
    [ $code -eq 5 ] || return
    container=$(with_docker run -d --network=none "127.0.0.1:$port/app:here" wait)
    for ((i = 0; i < 100; ++i)); do with_docker logs "$container" 2>&1 | grep ready >/dev/null && break || sleep 0.1; done
    with_docker stop -t 20 "$container" >/dev/null
    [ "$(with_docker wait "$container")" = 7 ]
  }
  version=$(with_docker version --format '{{.Server.Version}}')
  for tag in here targets; do shown="docker run REGISTRY/app:$tag"; own_form "Docker $version" by_docker $tag; done
  shown="docker run --user; exit code; docker stop"
  own_form "Docker $version" with_registry_user
fi

echo
cat "$table" "$own" "$notes"
if [ $write = yes ]; then
  perl -e '
    my ($file, @tables) = @ARGV;
    local $/;
    open my $in, "<", $file or die "$file: $!";
    my $text = <$in>;
    for my $name (qw(runs own)) {
      open my $t, "<", shift @tables or die $!;
      my $table = <$t>;
      $text =~ s/(<!-- $name: [^>]*-->\n).*?(<!-- end -->)/$1$table$2/s or die "$file has no place for the table $name";
    }
    open my $out, ">", $file or die "$file: $!";
    print $out $text;' "$root/docs/running.md" "$table" "$own"
fi
[ $failed -eq 0 ] || die "$failed cells failed"

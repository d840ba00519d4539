#!/bin/bash
# Apptainer itself, which Debian 12 does not have: a root of Debian sid with it and with the relocatable archive of xaas, in which an
# ordinary user runs the checks of tests/e2e/probe.sh under `xaas run --runtime apptainer`, an installation whose programs start
# Apptainer, and Apptainer's own forms of our images.
#
#   tools/bench/apptainer.sh [BUILD-DIRECTORY]     of the program; build/release, if none is named
#
# Needs root, mmdebstrap, an archive of Debian sid, and a kernel that gives users namespaces. Resumes after an interruption: lib.sh.
# shellcheck disable=SC1091 # files of the end-to-end tests
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
build=$(realpath "${1:-$root/build/release}")
xaas=$build/bin/xaas
[ "$(id -u)" -eq 0 ] || die "needs root"
open_bench
packages mmdebstrap

once "$work/roots/apptainer" debian_root sid apptainer,procps
top=$work/roots/apptainer here=$work/apptainer/$program
mkdir -p "$here"
once "$here/xaas.tar.gz" "$root/tools/make-archive.sh" "$build" >"$here/archive.log" 2>&1 || die "no archive: $here/archive.log"

inside() { in_root "$top" "$@"; } # COMMAND...

rm -rf "$top/bench"
mkdir -p "$top/bench/home" "$top/bench/e2e"
cp "$root/tests/e2e/lib.sh" "$root/tests/e2e/probe.sh" "$top/bench/e2e/"
tar -xzf "$here/xaas.tar.gz" -C "$top/bench" --strip-components=1
(
  cd "$top/bench"
  export E2E=$root/tests/e2e XAAS=$xaas XAAS_CACHE_DIR=$here/cache
  source "$E2E/lib.sh"
  source "$E2E/probe.sh"
  probe_image app
  "$xaas" copy oci:app:here oci:alone:here -q >/dev/null # Apptainer takes no tag after the path of a layout
  "$xaas" copy oci:app:here oci-archive:app.tar:here -q >/dev/null
  "$xaas" copy oci:app:here squashfs:app.sqfs -q >/dev/null
)
cat >"$top/bench/check.sh" <<'END'
set -euo pipefail
export E2E=/bench/e2e XAAS=/bench/bin/xaas XAAS_CACHE_DIR=/bench/home/cache
ignored_stays=no # Apptainer handles SIGHUP itself
source "$E2E/lib.sh"
source "$E2E/probe.sh"
mkdir /bench/home/work
cd /bench/home/work
echo "== $(apptainer --version)"
check_probe "$XAAS" run -q --runtime apptainer oci:/bench/app:here
check_killed "$XAAS" run -q --runtime apptainer oci:/bench/app:here
echo "xaas run: as under the other runtimes"
"$XAAS" install oci:/bench/app:here --prefix /bench/home/installed --container always --runtime apptainer --bind /bench -q >/dev/null
says '[a][b c]' /bench/home/installed/bin/probe a 'b c'
says image env OF_BOTH=host /bench/home/installed/bin/probe env OF_BOTH
says host env OF_HOST=host /bench/home/installed/bin/probe env OF_HOST
says "$PWD" /bench/home/installed/bin/probe cwd
expect_exit 5 /bench/home/installed/bin/probe exit 5
messages=$(/bench/home/installed/bin/probe 2>&1 >/dev/null)
[ -z "$messages" ] || fail "an installed program has messages: $messages"
echo "xaas install: the same"
for image in oci:/bench/alone oci-archive:/bench/app.tar /bench/app.sqfs; do
  rm -rf "$HOME/.apptainer" # its cache knows an image under any name
  says '[a]' apptainer --quiet exec "$image" /usr/local/bin/probe a
  echo "apptainer exec $image"
done
END
chmod -R a+rX "$top/bench"
chown -R 65534:65534 "$top/bench/home"
inside bash /bench/check.sh

#!/bin/bash
# The programs of examples/gpu as an IR image, beside nvcc: bytes of device code for five architectures in the IR image, as
# deployed for one, and in nvcc's fat binary; seconds to deploy; and, on a machine with a GPU, the results and the time of the
# kernels against `nvcc -O3 -arch=native` in the same run.
#
#   tools/bench/gpu.sh [--rounds N]
#
# Takes minutes. Needs a CUDA toolkit below $CUDA_PATH or /usr/local/cuda, with nvcc.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
rounds=5
[ "${1:-}" != --rounds ] || rounds=$2
cuda=${CUDA_PATH:-/usr/local/cuda}
[ -x "$cuda/bin/nvcc" ] || { echo "no CUDA toolkit with nvcc in $cuda: set CUDA_PATH" >&2; exit 4; }
open_bench
packages cmake make clang-22 binutils perl
here=$work/gpu/$program
mkdir -p "$here"
cd "$here"
archs=(75 80 86 90 100)
programs=(lookup stream)
section() { objcopy -O binary --only-section=.nv_fatbin "$1" fat && stat -c %s fat; } # PROGRAM: bytes of its device code
kernel() { "$1" | tee "$1.output" | sed -n 's/^kernel \([0-9.]*\) ms$/\1/p'; }

say "IR image, deployed for each of ${archs[*]}"
XAAS_CACHE_DIR=$here/cache "$xaas" build "$root/examples/gpu" --gpu "$(printf 'sm_%s,' "${archs[@]}" | sed 's/,$//')" -o oci:image:ir -q --format json >build.json
for arch in "${archs[@]}"; do
  rm -rf "sm_$arch"
  XAAS_CACHE_DIR=$here/cache "$xaas" deploy oci:image:ir --gpu "sm_$arch" -o "rootfs:sm_$arch" --no-cache -q --format json >"sm_$arch.json"
done
say "nvcc, for all of them and PTX of the last"
codes=()
for arch in "${archs[@]}"; do codes+=(-gencode "arch=compute_$arch,code=sm_$arch"); done
codes+=(-gencode "arch=compute_${archs[-1]},code=compute_${archs[-1]}")
for name in "${programs[@]}"; do
  "$cuda/bin/nvcc" -O3 -std=c++17 "${codes[@]}" "$root/examples/gpu/$name.cu" -o "$name.nvcc"
  "$cuda/bin/nvcc" -O3 -std=c++17 --compress-mode=none "${codes[@]}" "$root/examples/gpu/$name.cu" -o "$name.plain" 2>/dev/null ||
    "$cuda/bin/nvcc" -O3 -std=c++17 -Xfatbin=-compress=false "${codes[@]}" "$root/examples/gpu/$name.cu" -o "$name.plain"
done

say "device code, in bytes"
printf '%-10s%16s%24s%24s\n' program "nvcc, all" "nvcc, not compressed" "deployed for sm_90"
for name in "${programs[@]}"; do
  printf '%-10s%16s%24s%24s\n' "$name" "$(section "$name.nvcc")" "$(section "$name.plain")" "$(section "sm_90/usr/local/bin/$name")"
done
"$xaas" inspect oci:image:ir --format json | jq -r '"IR image: \(.sharing.modules) modules, those of the host with them, serve \(.sharing.units) units; \(.sharing.module_bytes) bytes, stored in \(.sharing.stored_bytes)"'
for arch in "${archs[@]}"; do jq -r '"deploy for \(.target.gpu[0]): \(.seconds.total * 100 | round / 100) s"' "sm_$arch.json"; done

if [ "$("$xaas" detect --format json -q | jq '[.gpus[] | select(.vendor == "nvidia")] | length')" -eq 0 ]; then
  echo "no NVIDIA GPU here: the programs were not run"
  exit 0
fi
say "kernels on $("$xaas" detect --format json -q | jq -r '[.gpus[] | "\(.model) (\(.arch))"] | unique | join(", ")')"
rm -rf here
XAAS_CACHE_DIR=$here/cache "$xaas" deploy oci:image:ir -o rootfs:here -q --format json >here.json
for name in "${programs[@]}"; do
  "$cuda/bin/nvcc" -O3 -arch=native -std=c++17 "$root/examples/gpu/$name.cu" -o "$name.native"
  ratios=()
  for ((round = 0; round <= rounds; ++round)); do # the first is not counted
    deployed=$(kernel "here/usr/local/bin/$name")
    native=$(kernel "./$name.native")
    cmp <(grep checksum "here/usr/local/bin/$name.output") <(grep checksum "$name.native.output") || die "$name: the deployed program computes something else"
    [ $round -eq 0 ] || ratios+=("$(ratio "$deployed" "$native")")
  done
  echo "$name: kernel deployed / nvcc: $(printf '%s\n' "${ratios[@]}" | median) (median of ${ratios[*]}), at most 1.05"
done

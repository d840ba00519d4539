#!/bin/bash
# Real CUDA applications from Debian's source packages. For each: `xaas build` for five GPU architectures captures all device
# code; deploying for each architecture needs no hardware; the machine code for an architecture has exactly the kernels that
# nvcc makes for it; the PTX passes NVIDIA's assembler; the program starts in the image and reports a missing GPU, or uses the
# one that is there. Then the figures: units and modules, seconds, and bytes of device code beside nvcc's fat binaries.
#
#   tools/bench/gpu_applications.sh [APPLICATION]...     darknet suitesparse gromacs; default: all
#
# Needs a CUDA toolkit below $CUDA_PATH or /usr/local/cuda, with nvcc, cuBLAS, cuRAND and cuFFT, and root once, for source packages (deb-src)
# and build dependencies. Two take minutes, GROMACS half an hour of two cores. Resumes after an interruption: lib.sh.
# shellcheck disable=SC2034 # settings of an application are read by name
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
applications=()
for name in "$@"; do
  case "$name" in
  darknet | suitesparse | gromacs) applications+=("$name") ;;
  *) echo "usage: $0 [darknet|suitesparse|gromacs]..." >&2; exit 2 ;;
  esac
done
[ ${#applications[@]} -gt 0 ] || applications=(darknet suitesparse gromacs)
find_cuda bin/nvcc
export PATH=$cuda/bin:$PATH
open_bench
packages make cmake ninja-build g++ clang-22 binutils perl zstd bubblewrap
archs=(70 75 80 90 100)
# What nvcc 13 compiles for begins at 75: as many, and PTX of the last.
nvcc_archs=(75 80 86 90 100)
nvcc_codes=()
for arch in "${nvcc_archs[@]}"; do nvcc_codes+=(-gencode "arch=compute_$arch,code=sm_$arch"); done
nvcc_codes+=(-gencode "arch=compute_${nvcc_archs[-1]},code=compute_${nvcc_archs[-1]}")

# For each application: its packages; the options of `xaas build`; the objects that nvcc makes from its CUDA sources, in the new
# directory $1; a run of PROGRAM... that asks for the GPU, and what it prints without one.
darknet_packages() { :; }
darknet_options=()
darknet_nvcc() {
  cp -r "$work/$app/source" "$1"
  local objects
  objects=$(cd "$1/src" && printf 'obj/%s ' ./*.cu | sed 's:\./::g; s/\.cu/.o/g')
  # shellcheck disable=SC2086 # many objects
  make -C "$1" -j"$(nproc)" OBJDIR=obj/ GPU=1 ARCH="${nvcc_codes[*]}" COMMON="-Iinclude/ -Isrc/ -DGPU -DcudaThreadSynchronize=cudaDeviceSynchronize" obj $objects
}
darknet_run() { "$@" darknet nightmare none none none 1; }
darknet_says='check_error\(cudaError_t\): Assertion' # of what CUDA answered; its text is lost in a buffer

suitesparse_packages() { packages libblas-dev liblapack-dev libomp-22-dev; }
suitesparse_options=()
suitesparse_nvcc() {
  cp -r "$work/$app/source" "$1"
  make -C "$1/CHOLMOD/Lib" NVCCFLAGS="-Xcompiler -fPIC -O3 ${nvcc_codes[*]}" cholmod_gpu_kernels.o
  make -C "$1/GPUQREngine/Lib" NVCCFLAGS="-Xcompiler -fPIC -O3 ${nvcc_codes[*]}" GPUQREngine_UberKernel.o
}
suitesparse_run() { "$@" qrdemo_gpu; }
suitesparse_says='no GPU available'

gromacs_packages() { packages libfftw3-dev libomp-22-dev; }
gromacs_options=(--config acceleration=cuda,simd=AVX2_256)
gromacs_nvcc() (
  local arguments sm
  sm=$(printf '%s;' "${nvcc_archs[@]}")
  mapfile -t arguments < <(spec_arguments "$spec" acceleration=cuda simd=AVX2_256)
  mkdir "$1"
  cd "$1" # GROMACS' checks of nvcc leave their files where they are: TestCUDA.o
  cmake -S "$work/$app/source" -B "$1" -G Ninja -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Release "${arguments[@]}" \
    -DGMX_CUDA_TARGET_SM="${sm%;}" -DGMX_CUDA_TARGET_COMPUTE="${nvcc_archs[-1]}" -DCUDA_TOOLKIT_ROOT_DIR="$cuda"
  rm -f TestCUDA.o
  # What FindCUDA runs for each source. Their targets would have all of libgromacs' other libraries made before.
  find "$1" -name '*_generated_*.o.Release.cmake' | sed 's/\.Release\.cmake$//' | xargs -P "$(nproc)" -I{} sh -c '
    mkdir -p "$(dirname "$1")" && cd "$(dirname "$1")" &&
      cmake -D build_configuration:STRING=Release -D generated_file:STRING="$1" -P "$1.Release.cmake"' sh {}
)
gromacs_run() { "$@" gmx -version; }
gromacs_says='CUDA driver: +0\.0'

# Into the new directory $2: the device code in a program or object, one file each, N.ARCH.cubin or N.ARCH.ptx. The container is described in
# src/device/fat_binary.cpp.
device_code() {
  mkdir "$2"
  objcopy -O binary --only-section=.nv_fatbin "$1" "$2/fat"
  (cd "$2" && [ -s fat ] || exit 0
    perl -e '
    open my $in, "<:raw", "fat" or die;
    local $/;
    my $all = <$in>;
    my $n = 0;
    while ($all =~ /\x50\xed\x55\xba/g) {
      my $start = pos($all) - 4;
      my ($header, $size) = unpack "x6 v Q<", substr $all, $start, 16;
      my $at = $start + $header;
      my $end = $at + $size;
      while ($at < $end) {
        my ($kind, $own, $length, $arch) = unpack "v x2 V Q< x12 V", substr $all, $at, 64;
        my ($packed, $flags) = unpack "x16 V x20 Q<", substr $all, $at, 64;
        my $zstd = $flags & 0x8000;
        my $code = substr $all, $at + $own, $zstd ? $packed : $length;
        $code =~ s/\0.*//s if $kind == 1 && !$zstd; # it is filled up to eight bytes
        my $name = sprintf "%d.%d.%s", $n++, $arch, $kind == 1 ? "ptx" : "cubin";
        open my $out, $zstd ? "| zstd -dcq >$name" : ">$name" or die;
        binmode $out;
        print $out $code;
        close $out or die;
        $at += $own + $length;
      }
      pos($all) = $end;
    }')
}
device_code_of_all() { # DIRECTORY FILE...: that of many programs or objects, in directories by their numbers
  local file n=0
  mkdir "$1"
  for file in "${@:2}"; do
    readelf -SW "$file" 2>/dev/null | grep -F .nv_fatbin >/dev/null || continue # to the end: a pipe that fails would say no
    device_code "$file" "$1/$((n++))"
  done
}
nvcc_code() { # into the new directory $1
  local objects
  mapfile -t objects < <(find "$work/$app/nvcc" -name '*.o' | sort)
  device_code_of_all "$1" "${objects[@]}"
}
# What kernels there are: each has parameters in a constant bank of its own. By their names in C++, because nvcc does not mangle those of
# static functions as everybody does.
kernels_of_cubins() { # FILE...
  local file
  for file in "$@"; do readelf -SW "$file" 2>/dev/null | sed -n 's/.* \.nv\.constant0\.\([^ ]*\) .*/\1/p'; done | c++filt | sort -u
}
kernels_of_ptx() { sed -n 's/.*\.entry \([A-Za-z0-9_$]*\).*/\1/p' "$@" | c++filt | sort -u; }
bytes_of_fat() { cat "$1"/*/fat | wc -c; } # DIRECTORY of device_code_of_all: of the objects that make one program
bytes_of_program() { stat -c %s "$1"/*/fat | sort -n | tail -n 1; } # the same: of programs, the largest

ir_build() { # with an empty cache
  rm -rf "$here/cache" "$here/image"
  XAAS_CACHE_DIR=$here/cache "$xaas" build "$spec" --source "$work/$app/source" "${app_options[@]}" -o "oci:$here/image:ir"
}
deploy_for() { # GPU DIRECTORY OPTION...: the new root of an image; its lowered code for the host is made once
  XAAS_CACHE_DIR=$here/objects-cache "$xaas" deploy "oci:$here/image:ir" --gpu "$1" -o "rootfs:$2" --format json "${@:3}" >"$2.json"
}
programs() { find "$1/usr/local" -type f \( -perm -u+x -o -name '*.so*' \) | sort; } # ROOT
check() { # ARCH, into the new directory $2: its device code, compared with nvcc's
  local reference=$1 files
  [ "$reference" -ge "${nvcc_archs[0]}" ] || reference=${nvcc_archs[0]} # whose kernels have the same names
  rm -rf "$2.root"
  deploy_for "sm_$1" "$2.root"
  mapfile -t files < <(programs "$2.root")
  device_code_of_all "$2" "${files[@]}"
  kernels_of_cubins "$work/$app/nvcc.code"/*/*."$reference.cubin" >"$2/expected"
  [ -s "$2/expected" ] || die "$app: nvcc made no kernels for sm_$reference"
  if compgen -G "$2/*/*.$1.cubin" >/dev/null; then
    kernels_of_cubins "$2"/*/*."$1.cubin" >"$2/kernels"
  else
    echo "PTX for sm_$1, which the assembler does not know"
    kernels_of_ptx "$2"/*/*."$1.ptx" >"$2/kernels"
  fi
  diff "$2/expected" "$2/kernels" >"$2/difference" || die "$app: other kernels for sm_$1 than nvcc's: $2/difference"
  ! find "$2" \( -name '*.cubin' -o -name '*.ptx' \) ! -name "*.$1.*" | grep . || die "$app: code for others than sm_$1"
  [ "$1" -eq 90 ] || rm -rf "$2.root" # that one is run
}
check_text() { # ARCH, into the new directory $2: its PTX, assembled
  local file assemble=$1 files
  rm -rf "$2.root"
  deploy_for "sm_$1" "$2.root" --ptxas none
  mapfile -t files < <(programs "$2.root")
  device_code_of_all "$2" "${files[@]}"
  rm -rf "$2.root"
  [ "$1" -ge "${nvcc_archs[0]}" ] || assemble=${nvcc_archs[0]} # newer GPUs take it, too
  for file in "$2"/*/*."$1.ptx"; do
    "$cuda/bin/ptxas" -arch="sm_$assemble" "$file" -o "$file.cubin" || die "$app: $file does not pass ptxas"
  done
}
starts() { # into the new directory $1: what it says
  mkdir "$1"
  "${app}_run" in_image >"$1/output" 2>&1 || true # without a GPU some end with an error
  grep -qE "$says" "$1/output" || die "$app does not start: $1/output: $(tail -n 3 "$1/output")"
}
in_image() { contained "$here/sm_90.root" "$here" "/usr/local/bin/$1" "${@:2}"; } # PROGRAM ARGUMENT...

# Bytes of the bundle's modules for GPUs: as they are, and packed.
device_modules() {
  local image=$here/image layer
  rm -rf "$here/modules"
  mkdir "$here/modules"
  for layer in $("$xaas" inspect "oci:$image:ir" --format json | jq -r '.layers[] | select(.role == "metadata" or .role == "ir").digest'); do
    tar -xf "$image/blobs/${layer/://}" -C "$here/modules"
  done
  (cd "$here/modules/.xaas" &&
    jq -r '.units as $units | [$units[] | .device? // {} | .[]] | unique | map($units[.].module) | unique | .[] | sub("sha256:"; "ir/sha256/")' bundle.json >list &&
    echo "$(wc -l <list) $(xargs -a list cat | wc -c) $(xargs -a list cat | zstd -c | wc -c)")
}

in_application() { # NAME: sets what the functions above use
  app=$1
  here=$work/$app-cuda/$program
  spec=$root/specs/applications/$app-cuda.json
  local names="${app}_options[@]" text="${app}_says"
  app_options=("${!names}")
  says=${!text}
  mkdir -p "$here"
}

for application in "${applications[@]}"; do
  in_application "$application"
  say "$app: sources"
  "${app}_packages"
  once "$work/$app/source" debian_source "$app"
  say "$app: what nvcc makes, for ${nvcc_archs[*]} and PTX"
  once "$work/$app/nvcc" "${app}_nvcc"
  once "$work/$app/nvcc.code" nvcc_code
  say "$app: xaas build, for ${archs[*]}"
  timed "$here/xaas.build" ir_build
  "$xaas" inspect "oci:$here/image:ir" --format json >"$here/image.json"
  jq -e '[.configurations[].native_objects] | add == 0' "$here/image.json" >/dev/null || die "$app: native objects: $(jq -c .native_objects "$here/image.json")"
  for arch in "${archs[@]}"; do
    say "$app: deployed for sm_$arch"
    timed "$here/xaas.deploy.$arch" again "$here/sm_$arch" check "$arch"
    timed "$here/xaas.text.$arch" again "$here/text_$arch" check_text "$arch"
    echo "$(wc -l <"$here/sm_$arch/kernels") kernels, as nvcc's; $(cat "$here/text_$arch"/*/*.ptx | wc -c) bytes of PTX pass ptxas"
  done
  once "$here/started" starts
  say "$app starts, and says: $(grep -oE "$says" "$here/started/output" | head -n 1)"
done

figures() { # of the application that is set
  local sharing modules
  sharing=$(jq -r '.sharing | "\(.units)|\(.device_units)|\(.modules)"' "$here/image.json")
  read -r -a modules < <(device_modules)
  local cells=("$app" "$(wall "$here/xaas.build")/$(cpu "$here/xaas.build")"
    "$(wall "$here/xaas.deploy.70")/$(cpu "$here/xaas.deploy.70")" "$(wall "$here/xaas.deploy.90")/$(cpu "$here/xaas.deploy.90")"
    "$sharing" "${modules[@]}" "$(wc -l <"$here/sm_90/kernels")"
    "$(bytes_of_fat "$work/$app/nvcc.code")" "$(bytes_of_program "$here/sm_90")" "$(bytes_of_program "$here/text_90")")
  (IFS='|'; echo "${cells[*]}")
}
say "figures ($machine; $("$cuda/bin/nvcc" --version | tail -n 1))"
{
  echo "application|IR build s/CPU s|deploy, first s/CPU s|deploy for sm_90 s/CPU s|units|of them for GPUs|modules|of them for GPUs|their bytes|packed|kernels|bytes, nvcc's fat binaries|bytes, deployed for sm_90|bytes, as PTX"
  for application in "${applications[@]}"; do in_application "$application"; figures; done
} | print_columns

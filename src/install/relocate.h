// Programs and libraries of a tree that lies below a prefix of the host.
//
// Problem. A program of an image names its loader and the directories of its libraries by absolute paths of
// the image. On the host, below /apps/solver/1.2/rootfs, the kernel would start the host's loader, which fits
// another C library:
//
//   before   interpreter /lib64/ld-linux-x86-64.so.2    RUNPATH $ORIGIN/../lib:/opt/fftw/lib
//   after    interpreter /apps/solver/1.2/rootfs/lib64/ld-linux-x86-64.so.2
//            RPATH $ORIGIN/../lib:/apps/solver/1.2/rootfs/opt/fftw/lib:/apps/solver/1.2/rootfs/usr/lib
//
// Approach. The paths of the file become those of the host, and they are the only bytes of the program that
// change. DT_RPATH instead of DT_RUNPATH, because it also serves libraries that need others, and because it
// precedes LD_LIBRARY_PATH, which names libraries of the host. The new strings, and the program headers,
// which need one entry more, are a new segment behind all others. Kernels before 5.18 tell the loader where
// the program headers are by their offset in the file and the address of the first segment alone, so the new
// segment is as far from the first one in the file as in memory. Where that would leave a large hole in the
// file, because much memory is not in the file (.bss), the headers stay in their place, and the new segment
// takes the entry of a note, which debuggers also find through the section headers.
//
// Rejected: starting the loader with --library-path (the program's /proc/self/exe would be the loader, and
// its name in lists of processes), LD_LIBRARY_PATH (programs of the host that the program starts would load
// the image's C library with the host's loader), patching the directories in the loader, and strings in the
// gaps between segments (there is not always one).
//
// Sources: System V gABI, chapters 4 and 5; Linux, fs/binfmt_elf.c; glibc, elf/rtld.c and elf/dl-load.c.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace xaas::install {

struct OwnPaths {
  std::string interpreter;        // empty: stays
  std::vector<std::string> rpath; // in order; empty: none
};

// A copy of the ELF file with these paths. Integrity errors: a damaged file. Unsatisfied: a file without a
// dynamic section, whose segments leave no place for another, or behind which other data follows: a program
// that reads the end of its file would not find it.
Result<std::string> relocate(std::string_view elf, const OwnPaths& paths);

} // namespace xaas::install

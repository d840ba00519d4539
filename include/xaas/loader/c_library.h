// The parts of the GNU C library. They fit only each other, so a program in an image loads all of them from
// the image, and none from the host.
//
// Source: glibc's <gnu/lib-names.h>, and the dynamic loaders of the psABIs.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace xaas::loader {

struct CLibraryPart {
  std::string_view name;
  // An image has it although no program of its own links it. Most of these are empty since glibc 2.34, and
  // newer links drop them. But a library of the host that was linked with an older glibc, such as
  // libcuda.so.1, cannot be loaded without them. libmvec.so.1 is not worth its size: a library of the host
  // that needs it is refused by name.
  bool in_every_image = false;
};

inline constexpr std::array c_library_parts = {
    CLibraryPart{"ld-linux-x86-64.so.2"},   CLibraryPart{"ld-linux-aarch64.so.1"},
    CLibraryPart{"libc.so.6", true},        CLibraryPart{"libm.so.6", true},
    CLibraryPart{"libpthread.so.0", true},  CLibraryPart{"libdl.so.2", true},
    CLibraryPart{"librt.so.1", true},       CLibraryPart{"libutil.so.1", true},
    CLibraryPart{"libresolv.so.2", true},   CLibraryPart{"libanl.so.1", true},
    CLibraryPart{"libmvec.so.1"},           CLibraryPart{"libnsl.so.1"},
    CLibraryPart{"libBrokenLocale.so.1"},   CLibraryPart{"libthread_db.so.1"},
    CLibraryPart{"libc_malloc_debug.so.0"}, CLibraryPart{"libnss_compat.so.2"},
    CLibraryPart{"libnss_db.so.2"},         CLibraryPart{"libnss_dns.so.2"},
    CLibraryPart{"libnss_files.so.2"},      CLibraryPart{"libnss_hesiod.so.2"},
};

constexpr bool is_of_c_library(std::string_view name) {
  for (const CLibraryPart& part : c_library_parts)
    if (part.name == name)
      return true;
  return false;
}

// Where the psABI of the architecture puts the loader.
inline std::string loader_path(const std::string& arch) {
  return arch == "x86_64" ? "/lib64/ld-linux-x86-64.so.2" : "/lib/ld-linux-" + arch + ".so.1";
}

} // namespace xaas::loader

# Libraries other than LLVM. With XAAS_STATIC_LIBRARIES the program loads only the C and C++ libraries, so it starts
# sooner and runs wherever these are. It also has just the parts that it uses: the shared libarchive needs libxml2, and
# that libicu's 30 MB, for a format that no image has. libcurl stays a shared library that is loaded when it is needed.
if(XAAS_STATIC_LIBRARIES)
  set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS ON)
endif()

find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(LibArchive 3.6 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)

if(XAAS_STATIC_LIBRARIES)
  # What those parts of libarchive need that we use.
  foreach(name nettle lzma lz4 bz2 acl)
    find_library(XAAS_${name} ${name} REQUIRED)
    target_link_libraries(LibArchive::LibArchive INTERFACE "${XAAS_${name}}")
  endforeach()
  target_link_libraries(LibArchive::LibArchive INTERFACE PkgConfig::ZSTD ZLIB::ZLIB)
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
  # Tests write archives, for which libarchive takes its writers of all formats.
  find_library(XAAS_xml2 xml2 REQUIRED)
  target_link_libraries(LibArchive::LibArchive INTERFACE "${XAAS_xml2}")
endif()

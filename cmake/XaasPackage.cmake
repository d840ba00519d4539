# `cpack` in the build directory makes a Debian package. Built on Debian 12 with XAAS_STATIC_LIBRARIES it is right for Debian 13,
# too, because it depends on the C and C++ libraries alone.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME xaas)
set(CPACK_PACKAGE_VENDOR xaas)
set(CPACK_PACKAGE_CONTACT "the authors of xaas <xaas@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "ships HPC applications as LLVM IR and specializes them on the target machine")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "xaas build compiles an application to LLVM IR in an OCI image; xaas deploy makes an
ordinary image from it for exactly the CPU and GPU of a machine, without compiler, root or network.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libstdc++6 (>= 12), libgcc-s1") # dpkg-shlibdeps finds no foreign libraries
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
# Loaded by name, for registries; only building needs compilers.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "clang-22, lld-22, flang-22")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)
include(CPack)

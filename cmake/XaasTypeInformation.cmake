# Problem: LLVM's and Clang's 9,000 type descriptors begin with a pointer to a vtable of libstdc++, and 1,000 of
# their vtables contain pointers to its function for pure virtual functions. The loader writes them at each
# start of the program. They lie in 340 pages, and the kernel copies each page that the loader writes to: a
# quarter of the time of `xaas --version`.
#
# Approach: a program that is not position-independent gets the few objects of libstdc++'s static archive that
# define these names, so that the linker writes the pointers. The program exports the names, and the shared
# library uses the program's definitions. Their layout and virtual functions are part of the library's ABI, so
# a newer shared library works with them.
#
# Rejected: the whole of libstdc++ from the archive. Plugins would bring a second one.
include(CheckCXXSourceCompiles)

# Does nothing, with a message, where the compiler has another C++ library, or no such archive of this one.
function(xaas_define_type_information target)
  check_cxx_source_compiles("#include <version>\n#ifndef __GLIBCXX__\n#error\n#endif\nint main() {}\n" XAAS_HAS_LIBSTDCXX)
  set(command "${CMAKE_CXX_COMPILER}" ${CMAKE_CXX_COMPILER_ARG1})
  if(CMAKE_CXX_COMPILER_TARGET AND CMAKE_CXX_COMPILE_OPTIONS_TARGET)
    list(APPEND command "${CMAKE_CXX_COMPILE_OPTIONS_TARGET}${CMAKE_CXX_COMPILER_TARGET}")
  endif()
  if(CMAKE_SYSROOT)
    list(APPEND command "--sysroot=${CMAKE_SYSROOT}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}") # they may select another GCC
  execute_process(COMMAND ${command} ${flags} -print-file-name=libsupc++.a
    OUTPUT_VARIABLE archive OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(found "")
  if(EXISTS "${archive}" AND XAAS_HAS_LIBSTDCXX)
    execute_process(COMMAND "${CMAKE_AR}" t "${archive}" OUTPUT_VARIABLE found ERROR_QUIET)
    string(REPLACE "\n" ";" found "${found}")
  endif()
  set(members class_type_info.o function_type_info.o pbase_type_info.o pmem_type_info.o pointer_type_info.o
              pure.o si_class_type_info.o vmi_class_type_info.o)
  foreach(member IN LISTS members)
    if(NOT member IN_LIST found)
      message(STATUS "No libsupc++.a with ${member}: ${target} will start more slowly")
      return()
    endif()
  endforeach()
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/${target}_type_information")
  file(MAKE_DIRECTORY "${directory}")
  list(TRANSFORM members PREPEND "${directory}/" OUTPUT_VARIABLE objects)
  add_custom_command(OUTPUT ${objects}
    COMMAND "${CMAKE_AR}" x "${archive}" ${members}
    DEPENDS "${archive}" WORKING_DIRECTORY "${directory}" VERBATIM)
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE ${objects})
endfunction()

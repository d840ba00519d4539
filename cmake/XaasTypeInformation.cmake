# Problem: LLVM's and Clang's 9,000 type descriptors begin with a pointer to a vtable of the C++ library, and 1,000 of their vtables
# have pointers to its function for pure virtual functions. The loader writes them at each start of the program. They lie in 340
# pages, each of which it must copy for that: a quarter of the time of `xaas --version`.
#
# Approach: a program that is not position-independent gets the few objects of the C++ library's static archive that define these
# names, so that the linker writes the pointers. It exports the names, and the shared library uses the program's definitions.
#
# Rejected: the whole C++ library from the archive. Plugins would bring a second one.

# Does nothing where the compiler's C++ library has no such archive.
function(xaas_define_type_information target)
  set(command "${CMAKE_CXX_COMPILER}" -print-file-name=libsupc++.a)
  if(CMAKE_CXX_COMPILER_TARGET)
    list(APPEND command "--target=${CMAKE_CXX_COMPILER_TARGET}")
  endif()
  if(CMAKE_SYSROOT)
    list(APPEND command "--sysroot=${CMAKE_SYSROOT}")
  endif()
  execute_process(COMMAND ${command} OUTPUT_VARIABLE archive OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${archive}" OR NOT EXISTS "${archive}")
    message(STATUS "The C++ library has no libsupc++.a: ${target} starts more slowly")
    return()
  endif()
  set(directory "${PROJECT_BINARY_DIR}/type_information")
  set(members class_type_info.o function_type_info.o pbase_type_info.o pmem_type_info.o pointer_type_info.o pure.o
              si_class_type_info.o vmi_class_type_info.o)
  list(TRANSFORM members PREPEND "${directory}/" OUTPUT_VARIABLE objects)
  add_custom_command(OUTPUT ${objects}
    COMMAND "${CMAKE_AR}" x "${archive}" ${members}
    DEPENDS "${archive}" WORKING_DIRECTORY "${directory}" VERBATIM)
  file(MAKE_DIRECTORY "${directory}")
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE ${objects})
endfunction()

# xaas_add_module(NAME SOURCES file... [PUBLIC module...] [PRIVATE module...] [LIBRARIES target...])
#
# Defines the static library `xaas_<NAME>` for the directory src/<NAME>. PUBLIC lists the modules that its public
# headers include, PRIVATE those that only its sources include; every module may use `base`. An undeclared include
# does not compile, because each module exposes only its own include directory. tools/check_architecture.py compares
# these lists with the includes and with docs/architecture.md.
add_custom_target(xaas_modules)

function(xaas_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE;LIBRARIES" ${ARGN})
  add_library(xaas_${name} STATIC ${arg_SOURCES})
  add_dependencies(xaas_modules xaas_${name})
  add_library(xaas::${name} ALIAS xaas_${name})
  # The public headers of only this module, as <xaas/NAME/...>.
  set(view "${PROJECT_BINARY_DIR}/include/${name}")
  file(MAKE_DIRECTORY "${view}/xaas")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/xaas/${name}" "${view}/xaas/${name}" SYMBOLIC)
  target_include_directories(xaas_${name} PUBLIC "${view}" PRIVATE "${PROJECT_SOURCE_DIR}/src/${name}")
  if(NOT name STREQUAL "base")
    target_link_libraries(xaas_${name} PUBLIC xaas_base)
  endif()
  list(TRANSFORM arg_PUBLIC PREPEND xaas_)
  list(TRANSFORM arg_PRIVATE PREPEND xaas_)
  target_link_libraries(xaas_${name}
    PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} xaas_warnings ${arg_LIBRARIES})
  if("xaas_clang" IN_LIST arg_LIBRARIES)
    xaas_precompile(xaas_${name} xaas_precompiled_clang)
  else()
    xaas_precompile(xaas_${name} xaas_precompiled)
  endif()
  # Unit tests of the module see what its sources see.
  set_target_properties(xaas_${name} PROPERTIES XAAS_PRIVATE_MODULES "${arg_PRIVATE}")
endfunction()

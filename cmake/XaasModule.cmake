# xaas_add_module(NAME SOURCES file... [DEPENDS module...] [LIBRARIES target...])
#
# One static library `xaas_<NAME>` for the directory src/<NAME>. DEPENDS are the only other modules that its
# public headers and sources may use: a wrong arrow does not compile, because each module offers its own
# include directory only.
add_custom_target(xaas_modules)

function(xaas_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(xaas_${name} STATIC ${arg_SOURCES})
  add_dependencies(xaas_modules xaas_${name})
  add_library(xaas::${name} ALIAS xaas_${name})
  # Public headers of this module alone, as <xaas/NAME/...>.
  set(view "${PROJECT_BINARY_DIR}/include/${name}")
  file(MAKE_DIRECTORY "${view}/xaas")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/xaas/${name}" "${view}/xaas/${name}" SYMBOLIC)
  target_include_directories(xaas_${name} PUBLIC "${view}" PRIVATE "${PROJECT_SOURCE_DIR}/src/${name}")
  if(NOT name STREQUAL "base")
    target_link_libraries(xaas_${name} PUBLIC xaas_base)
  endif()
  foreach(dependency IN LISTS arg_DEPENDS)
    target_link_libraries(xaas_${name} PUBLIC xaas_${dependency})
  endforeach()
  target_link_libraries(xaas_${name} PRIVATE xaas_warnings ${arg_LIBRARIES})
endfunction()

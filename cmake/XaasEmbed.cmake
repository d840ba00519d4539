# xaas_embed(TARGET FUNCTION namespace::function FILE path)
#
# Carries a text file inside the program: adds a source to TARGET that defines
# `std::string_view namespace::function()`, which returns the file's text. The caller declares the function in a
# header of its own. The source is made at build time, whenever the file changed.
#
# This file is also the script that the build runs (with -P) to make the source.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" text)
  string(FIND "${text}" ")xaas_text\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${INPUT}: has the end mark of a C++ raw string in it")
  endif()
  string(REGEX REPLACE "::[^:]*$" "" scope "${FUNCTION}")
  string(REGEX REPLACE "^.*::" "" name "${FUNCTION}")
  file(WRITE "${OUTPUT}" "#include <string_view>\n"
    "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
    "namespace ${scope} {\nstd::string_view ${name}();\n"
    "std::string_view ${name}() { return R\"xaas_text(${text})xaas_text\"; }\n}\n")
  return()
endif()

set(XAAS_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(xaas_embed target)
  cmake_parse_arguments(arg "" "FUNCTION;FILE" "" ${ARGN})
  get_filename_component(input "${arg_FILE}" ABSOLUTE)
  string(REPLACE "::" "_" stem "${arg_FUNCTION}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${stem}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DINPUT=${input}" "-DOUTPUT=${output}" "-DFUNCTION=${arg_FUNCTION}"
            -P "${XAAS_EMBED_SCRIPT}"
    DEPENDS "${input}" "${XAAS_EMBED_SCRIPT}"
    COMMENT "Embedding ${arg_FILE}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

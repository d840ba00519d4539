# xaas_embed(TARGET FUNCTION namespace::function FILE path)
# xaas_embed(TARGET FUNCTION namespace::function BINARY path)
# xaas_embed(TARGET FUNCTION namespace::function DIRECTORY path)
#
# Embeds files in the program. Adds a source to TARGET that defines
#   std::string_view namespace::function()                      for FILE: the text of the file; for
#                                                               BINARY: its bytes, which need not be text
#   std::string_view namespace::function(std::string_view name) for DIRECTORY: the text of its file NAME.txt; a view
#                                                               without data where there is no such file
# The caller declares the function in its own header. The source is generated again whenever a file changes.
#
# This file is also the script that the build runs (with -P) to generate the source.
if(CMAKE_SCRIPT_MODE_FILE)
  function(literal file result)
    file(READ "${file}" text)
    string(FIND "${text}" ")xaas_text\"" end)
    if(NOT end EQUAL -1)
      message(FATAL_ERROR "${file}: contains the end mark of a C++ raw string")
    endif()
    set(${result} "R\"xaas_text(${text})xaas_text\"" PARENT_SCOPE)
  endfunction()

  string(REGEX REPLACE "::[^:]*$" "" scope "${FUNCTION}")
  string(REGEX REPLACE "^.*::" "" name "${FUNCTION}")
  if(DIRECTORY)
    set(parameter "std::string_view name")
    set(body "")
    file(GLOB files "${DIRECTORY}/*.txt")
    foreach(file IN LISTS files)
      get_filename_component(stem "${file}" NAME_WLE)
      literal("${file}" text)
      string(APPEND body "  if (name == \"${stem}\")\n    return ${text};\n")
    endforeach()
    string(APPEND body "  return {};\n")
  elseif(BINARY)
    set(parameter "")
    file(READ "${BINARY}" bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
    set(body "  return {\"${bytes}\", ${size}};\n")
  else()
    set(parameter "")
    literal("${INPUT}" text)
    set(body "  return ${text};\n")
  endif()
  file(WRITE "${OUTPUT}" "#include <string_view>\n"
    "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
    "namespace ${scope} {\nstd::string_view ${name}(${parameter});\n"
    "std::string_view ${name}(${parameter}) {\n${body}}\n}\n")
  return()
endif()

set(XAAS_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(xaas_embed target)
  cmake_parse_arguments(arg "" "FUNCTION;FILE;BINARY;DIRECTORY" "" ${ARGN})
  if(arg_DIRECTORY)
    get_filename_component(input "${arg_DIRECTORY}" ABSOLUTE)
    set(source "-DDIRECTORY=${input}")
    file(GLOB inputs CONFIGURE_DEPENDS "${input}/*.txt")
  elseif(arg_BINARY)
    get_filename_component(input "${arg_BINARY}" ABSOLUTE)
    set(source "-DBINARY=${input}")
    set(inputs "${input}")
  else()
    get_filename_component(input "${arg_FILE}" ABSOLUTE)
    set(source "-DINPUT=${input}")
    set(inputs "${input}")
  endif()
  string(REPLACE "::" "_" stem "${arg_FUNCTION}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${stem}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "${source}" "-DOUTPUT=${output}" "-DFUNCTION=${arg_FUNCTION}"
            -P "${XAAS_EMBED_SCRIPT}"
    DEPENDS ${inputs} "${XAAS_EMBED_SCRIPT}"
    COMMENT "Embedding ${input}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

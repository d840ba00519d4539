# LLVM, Clang and lld as static libraries.
#
# Debian exports the static Clang and lld targets with the shared `LLVM` library in their interface. Linking
# both registers every LLVM option twice and aborts at start-up, so `LLVM` is taken out of their interfaces
# and its components are linked statically instead.
find_package(LLVM 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/llvm)
set(XAAS_LLVM_CMAKE "${LLVM_LIBRARY_DIR}/cmake")
find_package(Clang REQUIRED CONFIG PATHS "${XAAS_LLVM_CMAKE}/clang" NO_DEFAULT_PATH)
find_package(LLD REQUIRED CONFIG PATHS "${XAAS_LLVM_CMAKE}/lld" NO_DEFAULT_PATH)

foreach(lib IN LISTS CLANG_EXPORTED_TARGETS LLD_EXPORTED_TARGETS)
  if(NOT TARGET ${lib})
    continue()
  endif()
  get_target_property(type ${lib} TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    continue()
  endif()
  get_target_property(interface ${lib} INTERFACE_LINK_LIBRARIES)
  if(interface)
    list(REMOVE_ITEM interface LLVM)
    set_target_properties(${lib} PROPERTIES INTERFACE_LINK_LIBRARIES "${interface}")
  endif()
endforeach()

# xaas_llvm: headers, and the components for target descriptions.
add_library(xaas_llvm INTERFACE)
target_include_directories(xaas_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(xaas_llvm INTERFACE -fno-rtti)
endif()
llvm_map_components_to_libnames(XAAS_LLVM_TARGETPARSER targetparser support)
target_link_libraries(xaas_llvm INTERFACE ${XAAS_LLVM_TARGETPARSER})

# xaas_llvm_object: xaas_llvm and object files.
llvm_map_components_to_libnames(XAAS_LLVM_OBJECT object)
add_library(xaas_llvm_object INTERFACE)
target_link_libraries(xaas_llvm_object INTERFACE xaas_llvm ${XAAS_LLVM_OBJECT})

# LLVM 22 with a fault mended (llvm/wrap_predicate.cpp): a copy of its library of analyses in which our function
# has the name of LLVM's, and LLVM's another. It depends on LLVM having been compiled with -ffunction-sections, as
# its own build does.
if(LLVM_VERSION VERSION_LESS 23)
  set(function _ZNK4llvm17SCEVWrapPredicate7impliesEPKNS_13SCEVPredicateERNS_15ScalarEvolutionE)
  set(directory "${PROJECT_BINARY_DIR}/llvm")
  file(MAKE_DIRECTORY "${directory}")
  get_target_property(configuration LLVMAnalysis IMPORTED_CONFIGURATIONS)
  get_target_property(original LLVMAnalysis IMPORTED_LOCATION_${configuration})
  add_library(xaas_wrap_predicate OBJECT "${CMAKE_CURRENT_LIST_DIR}/llvm/wrap_predicate.cpp")
  target_link_libraries(xaas_wrap_predicate PRIVATE xaas_llvm)
  add_custom_command(OUTPUT "${directory}/libLLVMAnalysis.a"
    COMMAND "${LLVM_TOOLS_BINARY_DIR}/llvm-ar" x "${original}" ScalarEvolution.cpp.o
    COMMAND "${LLVM_TOOLS_BINARY_DIR}/llvm-objcopy" --weaken-symbol=${function}
            --add-symbol=xaas_llvm_implies=.text.${function}:0,global,function ScalarEvolution.cpp.o
    COMMAND "${LLVM_TOOLS_BINARY_DIR}/ld.lld" -r -o mended.o ScalarEvolution.cpp.o
            "$<TARGET_OBJECTS:xaas_wrap_predicate>"
    COMMAND "${CMAKE_COMMAND}" -E rename mended.o ScalarEvolution.cpp.o
    COMMAND "${CMAKE_COMMAND}" -E copy "${original}" "${directory}/libLLVMAnalysis.a"
    COMMAND "${LLVM_TOOLS_BINARY_DIR}/llvm-ar" r "${directory}/libLLVMAnalysis.a" ScalarEvolution.cpp.o
    DEPENDS xaas_wrap_predicate "$<TARGET_OBJECTS:xaas_wrap_predicate>" "${original}"
    WORKING_DIRECTORY "${directory}" VERBATIM)
  add_custom_target(xaas_llvm_analysis DEPENDS "${directory}/libLLVMAnalysis.a")
  add_dependencies(LLVMAnalysis xaas_llvm_analysis)
  set_target_properties(LLVMAnalysis PROPERTIES
    IMPORTED_LOCATION_${configuration} "${directory}/libLLVMAnalysis.a")
endif()

# xaas_clang: the compiler with all targets, because the exported libraries of Clang and lld reference all of them.
set(components passes lto option frontendoffloading frontenddriver frontendopenmp frontendhlsl coverage
  instrumentation profiledata windowsdriver symbolize debuginfodwarf dtlto bitreader bitwriter object)
foreach(target IN LISTS LLVM_TARGETS_TO_BUILD ITEMS M68k Xtensa)
  list(APPEND components ${target})
endforeach()
list(REMOVE_DUPLICATES components)
llvm_map_components_to_libnames(XAAS_LLVM_ALL ${components})
add_library(xaas_clang INTERFACE)
target_include_directories(xaas_clang SYSTEM INTERFACE ${CLANG_INCLUDE_DIRS})
target_link_libraries(xaas_clang INTERFACE xaas_llvm clangDriver clangFrontend clangCodeGen clangSerialization
  clangParse clangSema clangAST clangLex clangBasic ${XAAS_LLVM_ALL})

add_library(xaas_lld INTERFACE)
target_include_directories(xaas_lld SYSTEM INTERFACE ${LLD_INCLUDE_DIRS})
target_link_libraries(xaas_lld INTERFACE xaas_llvm lldELF lldCommon ${XAAS_LLVM_ALL})

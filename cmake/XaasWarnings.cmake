# The warning flags as a target, which every target of this project links privately.
add_library(xaas_warnings INTERFACE)
target_compile_options(xaas_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough -Wno-missing-designated-field-initializers)
if(XAAS_WARNINGS_AS_ERRORS)
  target_compile_options(xaas_warnings INTERFACE -Werror)
endif()
if(XAAS_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(XAAS_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

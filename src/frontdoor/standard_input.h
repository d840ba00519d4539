// A source that a compiler reads from standard input: `echo 'int main(void) {}' | cc -x c -`.
//
// Makefiles and configure scripts ask compilers in this way. Here several readers may need the source: the
// front end, a second pass for the build machine's own level, and the compiler itself if the source is not
// captured.
#pragma once

#include <xaas/base/result.h>

#include <string>

namespace xaas::frontdoor {

// Whether a compiler's input of this name is standard input.
bool is_standard_input(const std::string& name);

// Puts a copy that can be read again in the place of standard input. Waits for its end.
Result<void> keep_standard_input();

// The next reader begins at the start. Does nothing if standard input was not kept.
void rewind_standard_input();

} // namespace xaas::frontdoor

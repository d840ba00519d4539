// Options and values that a failure blames.
#pragma once

#include "learn.h"

#include <string>
#include <vector>

namespace xaas::trial {

// The libraries, programs and headers that a build's messages miss: "GTest", "fftw3", "doxygen".
std::vector<std::string> missing_names(const std::string& output);

// Gives a required variable a value, switches off what needs something that is missing, or leaves out the
// value that fails. The lesson of learn.h.
std::string learn_options(const Classroom& room, discover::Draft& draft);

} // namespace xaas::trial

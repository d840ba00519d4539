// How messages name a job.
#pragma once

#include <xaas/lower/lower.h>

#include <string>

namespace xaas::lower {

// "lowering src/main.c (module sha256:...)"
std::string describe(const Job& job);

} // namespace xaas::lower

// Sentences about features that a CPU lacks.
#pragma once

#include <xaas/target/cpu.h>

#include <string>
#include <vector>

namespace xaas::target {

// Why a CPU does not serve, in one line. `wanted`: the ISA level or CPU that has the `missing` features;
// empty: they are wanted one by one, and all are named. `described`: the CPU in words. Few features are
// named: "this CPU (znver4) lacks avx512f of x86-64-v4". Of many, the levels tell more: "needs x86-64-v4;
// this CPU (haswell) has x86-64-v3". If the level is no reason, the first features are named, and the number
// of others.
std::string lack_text(const Cpu& cpu, const std::string& described, const std::string& wanted,
                      const std::vector<std::string>& missing);

} // namespace xaas::target

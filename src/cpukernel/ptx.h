// The text of inline assembly as statements.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace xaas::cpukernel {

// An operand as it is written: a name ("$0", "%laneid", "r1", "42"), or a list or an address with its parts.
struct PtxOperand {
  enum class Kind { name, list, address };
  Kind kind = Kind::name;
  std::string name;                // of an address: the register
  std::vector<PtxOperand> members; // of a list: {a, b}
  std::string offset;              // of an address: [a + 8]
  std::string second;              // a second destination: p|q
};

struct PtxStatement {
  std::string predicate; // "p" or "!p"; empty: always
  std::vector<std::string>
      parts; // of the operation: {"cvt", "rn", "f16", "f32"}; or {"reg", "b32"}; of a scope: {"{"}, {"}"}
  std::vector<PtxOperand> operands;
};

// Source: PTX ISA 9.0, "Syntax". An unsatisfied error for what inline assembly of no header needs: labels,
// branches' targets, declarations other than of registers.
Result<std::vector<PtxStatement>> parse_ptx(std::string_view text);

} // namespace xaas::cpukernel

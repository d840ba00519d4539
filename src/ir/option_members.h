// Members of Clang's option classes that none of Clang's X-macro tables lists.
//
// Options in the tables are carried whole (options.cpp). The other members have types of their own and no
// table, so this list names each of them with its fate. A test compares the list with Clang's headers, so
// that a member which a later Clang adds cannot be forgotten.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include <cstdint>

namespace clang {
class CodeGenOptions;
class CompilerInvocation;
} // namespace clang

namespace llvm {
struct DenormalMode;
}

namespace xaas::ir {

// Carried in UnitOptions::text, ::codegen, ::lists.
struct CarriedText {
  const char* key;
  std::string& (*of)(clang::CompilerInvocation&);
};
struct CarriedNumber {
  uint64_t limit; // exclusive upper bound of its values
  int64_t (*get)(const clang::CodeGenOptions&);
  void (*set)(clang::CodeGenOptions&, int64_t);
};
struct CarriedList {
  std::vector<std::string>& (*of)(clang::CodeGenOptions&);
};
// Carried in UnitOptions::text of units for GPUs. In IR for the CPU, it is an attribute of each function.
struct CarriedDenormalMode {
  llvm::DenormalMode clang::CodeGenOptions::* field;
};
struct CarriedByUnit {}; // in MachineFlags, or as a library of the unit

// A unit that has it cannot be carried; `what` is the reason.
struct Refused {
  const char* what;
  bool (*is_set)(const clang::CompilerInvocation&);
};

// Tells the back end nothing, or nothing that IR does not carry.
struct WithoutEffect {
  const char* why;
};

struct OptionMember {
  const char* name;
  std::variant<CarriedText, CarriedNumber, CarriedList, CarriedDenormalMode, CarriedByUnit, Refused,
               WithoutEffect>
      fate;
};

std::span<const OptionMember> codegen_members();
std::span<const OptionMember> language_members();
std::span<const OptionMember> target_members();

} // namespace xaas::ir

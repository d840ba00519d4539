// The allow list of linker options, for command lines and for records.
#pragma once

#include <xaas/link/record.h>

#include <string>
#include <string_view>

namespace xaas::link {

struct Option {
  enum class Value { none, optional, required };
  enum class Use {
    keep,    // part of a link record
    file,    // part of a link record; the value is a file that the link reads
    drop,    // does not change the output, at least if no input is bitcode
    writes,  // dropped; the value is a file that it writes
    parsed,  // used by the parser of command lines, and not recorded
    refused, // runs code, reads files that are not inputs, or makes the output random
  };
  std::string_view name; // without dashes
  Value value;
  Use use;
  // The valid values: "" any, "#" a number, "a|b" one of these (`a=` with a number).
  std::string_view values;
  SymbolEffect symbols = SymbolEffect::none;
};

// Finds an option by its name on a command line, without dashes; resolves aliases. nullptr: unknown.
const Option* find_option(std::string_view name);

// Finds an option by its canonical spelling in a record ("--as-needed", "-z"). nullptr: a record cannot have
// it.
const Option* find_record_option(std::string_view option);

// The canonical spelling: one dash for a one-letter name, else two.
std::string canonical(const Option& option);

// True if an option that is kept may have this value ("": none).
bool valid_value(const Option& option, std::string_view value);

} // namespace xaas::link

// The linker options that we know: the allow list of command lines and of records.
#pragma once

#include <string>
#include <string_view>

namespace xaas::link {

struct Option {
  enum class Value { none, optional, required };
  enum class Use {
    keep,    // part of a link record
    file,    // part of a link record; the value is a file that the link reads
    drop,    // does not change the output, or cannot where no input is bitcode
    writes,  // dropped; its value is a file that it writes
    parsed,  // means something to the parser of command lines and is gone afterwards
    refused, // runs code, reads files that are not named, or makes the output depend on chance
  };
  std::string_view name; // without dashes
  Value value;
  Use use;
  // What the value may be: "" anything, "#" a number, "a|b" one of these (`a=` with a number).
  std::string_view values;
};

// By its name as a command line has it, without dashes, aliases resolved; nullptr: not known.
const Option* find_option(std::string_view name);

// By its canonical spelling in a record ("--as-needed", "-z"); nullptr for one that a record cannot have.
const Option* find_record_option(std::string_view option);

// The canonical spelling: one dash for names of one letter, else two.
std::string canonical(const Option& option);

// Whether an option that is kept may have this value ("": none).
bool valid_value(const Option& option, std::string_view value);

} // namespace xaas::link

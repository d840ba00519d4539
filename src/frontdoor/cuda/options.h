// Parses nvcc's command line into options with values and input files, in nvcc's own grammar.
#pragma once

#include <xaas/base/result.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

// The value of an option: `--name=value`, `--name value`, and for some options `-Nvalue`.
enum class NvccValue {
  none,
  text,    // one value, unchanged
  number,  // one number
  boolean, // true or false
  list,    // parts between commas
  paths,   // file names between commas
};

enum class NvccUse {
  translated,
  dropped, // does not change what the program does
  refused, // changes the program in a way that Clang cannot express
};

struct NvccOption {
  std::string_view name;       // with two hyphens
  std::string_view short_name; // with one
  NvccValue value = NvccValue::none;
  NvccUse use = NvccUse::translated;
  bool joined = false;       // the value may follow the short name directly
  std::string_view reason{}; // of a refusal, as the end of "clang cannot ..."
};

struct NvccGiven {
  const NvccOption* option;        // null: unknown to nvcc; `values` has the word
  std::string spelling;            // as written, for messages
  std::vector<std::string> values; // parts of a list, or the one value
};

struct NvccCommand {
  std::vector<NvccGiven> options; // in the order of the command line
  std::vector<std::string> inputs;
};

using OptionsFileReader = std::function<Result<std::string>(const std::string& name)>;

// Reads the words of a command line, and replaces options files by their contents. As in nvcc, a long name
// has two hyphens, a short one has one, and names are not abbreviated. Failed, with the option's name, in the
// same cases as nvcc: a missing or superfluous value, a malformed number or boolean, an unknown kind of
// input, an options file that cannot be read or reads itself.
Result<NvccCommand> parse_nvcc(const std::vector<std::string>& words, const OptionsFileReader& reader);

} // namespace xaas::frontdoor

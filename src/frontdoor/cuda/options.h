// nvcc's command line as options with values and input files, in nvcc's own grammar.
#pragma once

#include <xaas/base/result.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

// What follows an option: `--name=value`, `--name value`, and for some `-Nvalue`.
enum class NvccValue {
  none,
  text,    // one value as it is
  number,  // one number
  boolean, // true or false
  list,    // parts between commas
  paths,   // names of files between commas
};

enum class NvccUse {
  translated,
  dropped, // changes nothing of what the program does
  refused, // changes it in a way that Clang cannot express
};

struct NvccOption {
  std::string_view name;       // with two hyphens
  std::string_view short_name; // with one
  NvccValue value = NvccValue::none;
  NvccUse use = NvccUse::translated;
  bool joined = false;       // the short name also with its value behind it
  std::string_view reason{}; // of a refusal, as the end of "clang cannot ..."
};

struct NvccGiven {
  const NvccOption* option;        // null: one that nvcc does not know, which is in `values`
  std::string spelling;            // as written, for messages
  std::vector<std::string> values; // parts of a list, or the one value
};

struct NvccCommand {
  std::vector<NvccGiven> options; // in the order of the command line
  std::vector<std::string> inputs;
};

using OptionsFileReader = std::function<Result<std::string>(const std::string& name)>;

// Reads the words of a command line, options files within it replaced by what is in them. As in nvcc a long
// name has two hyphens, a short one has one, and names are not abbreviated. Errors (kind `failed`, naming the
// option) are those of nvcc: no value or one too many, a number or boolean that is none, an input of a kind
// unknown to it, an options file that cannot be read, or that reads itself.
Result<NvccCommand> parse_nvcc(const std::vector<std::string>& words, const OptionsFileReader& reader);

} // namespace xaas::frontdoor

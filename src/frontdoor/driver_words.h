// A command line of Clang's driver or flang's as options with values, by the driver's own table: a word that
// belongs to another option is not taken for one, however it looks (`-o -march=native`,
// `-Xopenmp-target -march=sm_90`).
#pragma once

#include <string>
#include <vector>

namespace xaas::frontdoor {

struct DriverOption {
  unsigned id = 0;                // clang::options::ID, that of an alias resolved; OPT_INPUT for an input
  std::vector<std::string> words; // as written; the option alone, or with the words that are its values
  std::vector<std::string> values;
  bool lacks_value = false; // the last of a command line; it has no ID then
  const std::string& word() const { return words.front(); }
  // The last value, which for -Xarch_<arch> and -Xopenmp-target=<triple> is the option that they pass on.
  const std::string& value() const { return values.back(); }
};

enum class Driver { clang, flang };

// All words are in the options, in their order. What the driver does not know has the ID OPT_UNKNOWN, and so
// have words at the end to which a value is missing: the driver says what is wrong with them.
std::vector<DriverOption> parse_driver(const std::vector<std::string>& words, Driver driver = Driver::clang);

bool has_option(const std::vector<DriverOption>& options, unsigned id);

// The input files, also those behind `--`.
std::vector<std::string> inputs_of(const std::vector<DriverOption>& options);

// Whether a source is of this language, by its own ending or by -x.
bool has_language(const std::vector<DriverOption>& options, const std::string& language,
                  const std::string& ending);

} // namespace xaas::frontdoor

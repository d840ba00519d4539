// Parses a command line of Clang's or flang's driver into options with values, by the driver's own table. The
// value of an option is never mistaken for an option, whatever it looks like (`-o -march=native`,
// `-Xopenmp-target -march=sm_90`).
#pragma once

#include <string>
#include <vector>

namespace xaas::frontdoor {

struct DriverOption {
  unsigned id = 0;                // clang::options::ID with aliases resolved; OPT_INPUT for an input
  std::vector<std::string> words; // as written: the option, then any words that are its values
  std::vector<std::string> values;
  bool lacks_value = false; // at the end of a command line; the ID is then OPT_UNKNOWN
  const std::string& word() const { return words.front(); }
  // The last value. For -Xarch_<arch> and -Xopenmp-target=<triple> it is the option that they pass on.
  const std::string& value() const { return values.back(); }
};

enum class Driver { clang, flang };

// The options contain all words in order. Words that the driver does not know have the ID OPT_UNKNOWN, and so
// has a last option that lacks its value; the driver reports these.
std::vector<DriverOption> parse_driver(const std::vector<std::string>& words, Driver driver = Driver::clang);

bool has_option(const std::vector<DriverOption>& options, unsigned id);

// The input files, including those after `--`.
std::vector<std::string> inputs_of(const std::vector<DriverOption>& options);

// True if a source has this language, by its file name or by -x.
bool has_language(const std::vector<DriverOption>& options, const std::string& language,
                  const std::string& ending);

} // namespace xaas::frontdoor

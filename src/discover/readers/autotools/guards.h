// Which options decide about a part of configure.ac.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace xaas::discover {

// The parts of a text that a shell's `if` or AS_IF, or the macro of an option, makes conditional. Shell
// variables are not followed further than to the option whose macro assigns them.
class Guards {
public:
  explicit Guards(const std::string& text);

  // The options that decide whether a line is reached, outermost first: "enable-fft", or "NOT enable-fft".
  std::vector<std::string> around(unsigned line) const;

private:
  struct Part {
    unsigned first = 0, last = 0; // lines
    std::string condition;
  };
  void find_options(const std::string& text);
  void find_shell(const std::string& text);
  void find_macros(const std::string& text);
  void add(unsigned first, unsigned last, const std::string& test, bool negated);

  std::map<std::string, std::string> options_; // by shell variable
  std::vector<Part> parts_;
};

} // namespace xaas::discover

#include "driver_words.h"

#include <clang/Options/OptionUtils.h>
#include <clang/Options/Options.h>
#include <llvm/Option/ArgList.h>
#include <llvm/Option/OptTable.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

using namespace clang::options;

DriverOption option_of(const llvm::opt::InputArgList& arguments, const llvm::opt::Arg& argument,
                       unsigned end) {
  DriverOption option;
  option.id = argument.getOption().getID();
  for (unsigned i = argument.getIndex(); i < end; ++i)
    option.words.emplace_back(arguments.getArgString(i));
  for (const char* value : argument.getValues())
    option.values.emplace_back(value);
  // Empty words between options belong to no option.
  while (option.words.size() > 1 && option.words.back().empty() &&
         (option.values.empty() || !option.values.back().empty()))
    option.words.pop_back();
  return option;
}

} // namespace

std::vector<DriverOption> parse_driver(const std::vector<std::string>& words, Driver driver) {
  std::vector<const char*> pointers;
  for (const std::string& word : words)
    pointers.push_back(word.c_str());
  unsigned missing = 0, missing_count = 0;
  const llvm::opt::InputArgList arguments = clang::getDriverOptTable().ParseArgs(
      pointers, missing, missing_count,
      llvm::opt::Visibility(driver == Driver::flang ? FlangOption : ClangOption));
  const unsigned parsed = missing_count ? missing : arguments.getNumInputArgStrings();
  std::vector<DriverOption> options;
  for (auto it = arguments.begin(); it != arguments.end();) {
    const llvm::opt::Arg& argument = **it;
    ++it;
    options.push_back(option_of(arguments, argument, it == arguments.end() ? parsed : (*it)->getIndex()));
  }
  for (unsigned i = parsed; i < arguments.getNumInputArgStrings(); ++i)
    options.push_back({OPT_UNKNOWN, {arguments.getArgString(i)}, {}, true});
  return options;
}

bool has_option(const std::vector<DriverOption>& options, unsigned id) {
  return std::any_of(options.begin(), options.end(),
                     [&](const DriverOption& option) { return option.id == id; });
}

std::vector<std::string> inputs_of(const std::vector<DriverOption>& options) {
  std::vector<std::string> inputs;
  for (const DriverOption& option : options)
    if (option.id == OPT_INPUT || option.id == OPT__DASH_DASH)
      inputs.insert(inputs.end(), option.values.begin(), option.values.end());
  return inputs;
}

bool has_language(const std::vector<DriverOption>& options, const std::string& language,
                  const std::string& ending) {
  const std::vector<std::string> inputs = inputs_of(options);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const std::string& input) { return input.ends_with(ending); }) ||
         std::any_of(options.begin(), options.end(), [&](const DriverOption& option) {
           return option.id == OPT_x && option.value() == language;
         });
}

} // namespace xaas::frontdoor

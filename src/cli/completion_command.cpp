#include "completion_words.h"

#include <xaas/base/file.h>

#include <iostream>

namespace xaas::cli {

namespace {

class CompletionCommandLine : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("SHELL", shell_, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember(completion_shells()));
    app.add_option("-o,--output", output_,
                   "Write the script to FILE instead of standard output; creates missing directories")
        ->type_name("FILE");
  }

  Result<void> run() override {
    const std::string script = completion_script(shell_);
    if (output_.empty()) {
      std::cout << script;
      return {};
    }
    XAAS_CHECK(make_directories(fs::path(output_).parent_path()));
    return write_output(output_, script);
  }

private:
  std::string shell_, output_;
};

} // namespace

std::unique_ptr<Command> make_completion_command() {
  return std::make_unique<CompletionCommandLine>();
}

} // namespace xaas::cli

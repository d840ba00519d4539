// Questions about an nvcc command line that was read, and the checks that it has to pass.
#pragma once

#include "cuda/options.h"

#include <xaas/base/result.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more);

// Answers questions about the options that were read. Options go by their short names.
class NvccRequest {
public:
  explicit NvccRequest(NvccCommand command) : command_(std::move(command)) {}

  const NvccCommand& command() const { return command_; }
  bool has(std::string_view name) const;

  // The value that counts.
  std::optional<std::string> last(std::string_view name) const;
  bool last_is_true(std::string_view name, bool otherwise) const;

  Words all(std::string_view name) const;
  Words unknown() const;
  static bool is(const NvccGiven& given, std::string_view name);

private:
  NvccCommand command_;
};

// A failed error: Clang cannot do what the option asks for.
Error nvcc_refusal(const std::string& spelling, std::string_view reason);

// The words of an option for a tool that nvcc runs. The values of all its occurrences form one line for a
// shell: quotes may span several.
Result<Words> tool_words(const NvccRequest& request, std::string_view name);

struct NvccInputs {
  Words words; // each with its language before it where that changes
  bool has_cuda = false, has_cxx = false, has_host_source = false;
  size_t sources = 0;
};
Result<NvccInputs> inputs_of(const NvccRequest& request);

// True if the command only asks nvcc about itself.
bool is_query(const NvccRequest& request);

// Refuses (failed) unknown options, options that Clang cannot follow, and commands without an input.
Result<void> check_request(const NvccRequest& request);

} // namespace xaas::frontdoor

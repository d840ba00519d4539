// What a source tree that has no spec says of itself.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/llm/suggest.h>
#include <xaas/spec/application.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::cli {

struct TreeDescription {
  Json json;                                   // for `inspect`
  std::vector<std::string> notes;              // what could not be read
  std::optional<llm::Suggestions> suggestions; // of a language model, if one was asked
};
// `system`: cmake, meson, autotools or make; empty: the first of these that it has. With `model`, a language
// model is asked, too.
Result<TreeDescription> describe_tree(const std::string& directory, const std::string& system,
                                      const std::optional<llm::Options>& model);
// The same as the document of `--schema paper`, in `json`.
Result<TreeDescription> describe_tree_for_paper(const std::string& directory, const std::string& system,
                                                const std::optional<llm::Options>& model);

// Of --build-system.
std::optional<spec::BuildSystem> build_system_of(const std::string& name);

} // namespace xaas::cli

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
struct TreeOptions {
  std::string system; // cmake, meson, autotools, make; empty: the first that it has
  std::optional<std::vector<std::string>> configure; // also run its configure step, with these arguments
  std::optional<llm::Options> model;                 // also ask a language model
};
Result<TreeDescription> describe_tree(const std::string& directory, const TreeOptions& options);
// The same as the document of `--schema paper`, in `json`.
Result<TreeDescription> describe_tree_for_paper(const std::string& directory, const TreeOptions& options);

// Of --build-system.
std::optional<spec::BuildSystem> build_system_of(const std::string& name);

} // namespace xaas::cli

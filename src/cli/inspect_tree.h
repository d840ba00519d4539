// The description of a source tree by its build system and sources.
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
  std::vector<std::string> notes;              // parts that could not be read
  std::optional<llm::Suggestions> suggestions; // of a language model, if one was asked
};
struct TreeOptions {
  std::string system; // cmake, meson, autotools or make; empty: the first that the tree has
  std::optional<std::vector<std::string>> configure; // also run its configure step, with these arguments
  std::optional<llm::Options> model;                 // also ask a language model
};
Result<TreeDescription> describe_tree(const std::string& directory, const TreeOptions& options);
// The same; `json` is the document of `--schema paper`.
Result<TreeDescription> describe_tree_for_paper(const std::string& directory, const TreeOptions& options);

// The points that discovery finds in a tree with a spec: as in describe_tree(), each with `used_by`, the
// point of the spec that sets its option, "build.arguments", or null.
Result<Json> discovered_points(const std::string& directory, const spec::Application& application);

// The value of --build-system.
std::optional<spec::BuildSystem> build_system_of(const std::string& name);

} // namespace xaas::cli

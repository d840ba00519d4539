// The answer of a language model, as the body of a server's response and as the document in it. Findings in
// the tree stay, and with the additions the spec is still valid.
#include "fuzz.h"

#include <xaas/llm/suggest.h>

namespace {

using namespace xaas;

struct Tree {
  TemporaryDirectory directory = *TemporaryDirectory::create();
  discover::Findings findings;
  discover::Discovery discovery;
  Tree() {
    const char* const text = "project(waves)\n"
                             "option(WAVES_OPENMP \"threads\" ON)\n"
                             "option(WAVES_TURBO \"kernels with vectors\" OFF)\n"
                             "set(WAVES_SIMD none CACHE STRING \"kernel\")\n"
                             "set_property(CACHE WAVES_SIMD PROPERTY STRINGS none AVX2 AVX_512)\n"
                             "if(WAVES_SIMD STREQUAL \"SSE4\")\n";
    require(static_cast<bool>(write_file(directory.path() / "CMakeLists.txt", text)), "a tree");
    findings = *discover::read_tree(directory.path());
    discovery = discover::classify(findings);
  }
};

void answer(const Tree& tree, llm::Style style, const std::string& body) {
  llm::Options options;
  options.url = "http://localhost";
  options.model = "fuzz";
  options.style = style;
  llm::World world;
  world.send = [&](const http::Request&) { return Result<http::Response>(http::Response{200, {}, body}); };
  world.environment = [](const char*) { return static_cast<const char*>(nullptr); };
  const auto result = llm::suggest(tree.directory.path(), tree.findings, tree.discovery, options, world);
  if (!result) {
    require(result.error().kind == ErrorKind::integrity || result.error().kind == ErrorKind::failed,
            "kind of error");
    return;
  }
  for (size_t i = 0; i < tree.discovery.points.size(); ++i) {
    const spec::SpecializationPoint& before = tree.discovery.points[i].point;
    const spec::SpecializationPoint& after = result->discovery.points[i].point;
    require(before.name == after.name && before.default_ == after.default_, "points that were read stay");
    for (const spec::Value& value : before.values)
      require(after.find(value.value) && after.find(value.value)->arguments == value.arguments,
              "values that were read stay");
  }
  require(!llm::to_json(*result).dump().empty(), "a report");
  discover::Draft draft = discover::draft(tree.findings, result->discovery, "x86_64");
  for (discover::Remark& remark : llm::remarks(*result))
    draft.remarks.push_back(std::move(remark));
  require(static_cast<bool>(spec::parse_application(discover::to_text(draft), "spec")), "a spec");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tree tree;
  const std::string text(reinterpret_cast<const char*>(data), size);
  answer(tree, llm::Style::openai, text);
  answer(tree, llm::Style::anthropic, text);
  const Json envelope = {{"choices", Json::array({Json{{"message", {{"content", text}}}}})}};
  answer(tree, llm::Style::openai, envelope.dump(-1, ' ', false, Json::error_handler_t::replace));
  return 0;
}

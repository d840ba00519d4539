// The document format of the published evaluation.
#include "knowledge.h"

#include <xaas/base/text.h>

namespace xaas::discover {

namespace {

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

// A programming model: for GPUs, or parallel on the host.
Json model(const Choice& choice) {
  return {{"used_as_default", choice.by_default},
          {"build_flag", or_null(choice.flag)},
          {"minimum_version", or_null(choice.version)}};
}

Json algebra_library(const Choice& choice) {
  return {{"used_as_default", choice.by_default},
          {"build_flag", or_null(choice.flag)},
          {"condition", or_null(choice.condition)}};
}

Json fft_library(const Choice& choice) {
  return {{"built-in", choice.built_in},
          {"used_as_default", choice.by_default},
          {"dependencies", Json()},
          {"build_flag", or_null(choice.flag)}};
}

Json simd_level(const Choice& choice) {
  return {{"build_flag", or_null(choice.flag)}, {"default", choice.by_default}};
}

Json choices_of(const Discovery& discovery, Choice::Group group, Json (*describe)(const Choice&)) {
  Json described = Json::object();
  for (const Choice& choice : discovery.choices)
    if (choice.group == group)
      described[choice.name] = describe(choice);
  return described;
}

// The packages that the knowledge has no entry for.
Json other_libraries(const Findings& findings) {
  Json others = Json::object();
  for (const Package& package : findings.packages)
    if (const Entry* const entry = Knowledge::get().entry(Knowledge::words_of(package.name));
        !entry || entry->is_layer)
      others[package.name] = Json{{"version", or_null(package.version)},
                                  {"used_as_default", package.conditions.empty()},
                                  {"conditions", or_null(join(package.conditions, " AND "))},
                                  {"build_flag", Json()}};
  return others;
}

std::string build_system_type(const Findings& findings) {
  if (findings.system == spec::BuildSystem::cmake)
    return "cmake";
  if (findings.system == spec::BuildSystem::make || findings.system == spec::BuildSystem::autotools)
    return "make";
  return "undetermined";
}

} // namespace

Json paper_document(const Findings& findings, const Discovery& discovery) {
  using Group = Choice::Group;
  std::vector<std::string> flags;
  for (const auto& [flag, place] : findings.flags)
    flags.push_back(flag);
  return Json{
      {"gpu_build", {{"value", discovery.uses_gpus}, {"build_flag", or_null(discovery.gpu_flag)}}},
      {"gpu_backends", choices_of(discovery, Group::gpu, model)},
      {"parallel_programming_libraries", choices_of(discovery, Group::parallel, model)},
      {"linear_algebra_libraries", choices_of(discovery, Group::linear_algebra, algebra_library)},
      {"FFT_libraries", choices_of(discovery, Group::fft, fft_library)},
      {"other_external_libraries", other_libraries(findings)},
      {"compiler_flags", flags},
      {"optimization_build_flags", Json::array()},
      {"compilers", Json::object()},
      {"architectures", Json::array()},
      {"simd_vectorization", choices_of(discovery, Group::simd, simd_level)},
      {"build_system",
       {{"type", build_system_type(findings)}, {"minimum_version", or_null(findings.minimum_version)}}},
      {"internal_build",
       {{"library_name", discovery.own_library.empty() ? "None" : discovery.own_library},
        {"build_flag", or_null(discovery.own_flag)}}}};
}

} // namespace xaas::discover

// The document of the published evaluation.
#include "knowledge.h"

#include <xaas/base/text.h>

namespace xaas::discover {

namespace {

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

} // namespace

Json paper_document(const Findings& findings, const Discovery& discovery) {
  Json gpus = Json::object(), parallel = Json::object(), algebra = Json::object(), fft = Json::object(),
       simd = Json::object();
  for (const Choice& choice : discovery.choices)
    switch (choice.group) {
    case Choice::Group::gpu:
      gpus[choice.name] = Json{{"used_as_default", choice.by_default},
                               {"build_flag", or_null(choice.flag)},
                               {"minimum_version", or_null(choice.version)}};
      break;
    case Choice::Group::parallel:
      parallel[choice.name] = Json{{"used_as_default", choice.by_default},
                                   {"build_flag", or_null(choice.flag)},
                                   {"minimum_version", or_null(choice.version)}};
      break;
    case Choice::Group::linear_algebra:
      algebra[choice.name] = Json{{"used_as_default", choice.by_default},
                                  {"build_flag", or_null(choice.flag)},
                                  {"condition", or_null(choice.condition)}};
      break;
    case Choice::Group::fft:
      fft[choice.name] = Json{{"built-in", choice.built_in},
                              {"used_as_default", choice.by_default},
                              {"dependencies", Json()},
                              {"build_flag", or_null(choice.flag)}};
      break;
    case Choice::Group::simd:
      simd[choice.name] = Json{{"build_flag", or_null(choice.flag)}, {"default", choice.by_default}};
      break;
    }
  std::string type = "undetermined";
  if (findings.system == spec::BuildSystem::cmake)
    type = "cmake";
  else if (findings.system == spec::BuildSystem::make || findings.system == spec::BuildSystem::autotools)
    type = "make";
  Json others = Json::object();
  for (const Package& package : findings.packages)
    if (!Knowledge::get().entry(Knowledge::words_of(package.name)))
      others[package.name] = Json{{"version", or_null(package.version)},
                                  {"used_as_default", package.conditions.empty()},
                                  {"conditions", or_null(join(package.conditions, " AND "))},
                                  {"build_flag", Json()}};
  std::vector<std::string> flags;
  for (const auto& [flag, place] : findings.flags)
    flags.push_back(flag);
  return Json{{"gpu_build", {{"value", discovery.uses_gpus}, {"build_flag", or_null(discovery.gpu_flag)}}},
              {"gpu_backends", gpus},
              {"parallel_programming_libraries", parallel},
              {"linear_algebra_libraries", algebra},
              {"FFT_libraries", fft},
              {"other_external_libraries", others},
              {"compiler_flags", flags},
              {"optimization_build_flags", Json::array()},
              {"compilers", Json::object()},
              {"architectures", Json::array()},
              {"simd_vectorization", simd},
              {"build_system", {{"type", type}, {"minimum_version", or_null(findings.minimum_version)}}},
              {"internal_build",
               {{"library_name", discovery.own_library.empty() ? "None" : discovery.own_library},
                {"build_flag", or_null(discovery.own_flag)}}}};
}

} // namespace xaas::discover

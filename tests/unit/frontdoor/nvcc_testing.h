// Helpers for tests of nvcc's command lines.
#pragma once

#include "cuda/nvcc.h"

#include <xaas/base/text.h>

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::frontdoor {

using Words = std::vector<std::string>;

// The options files of a test.
inline OptionsFileReader files(std::map<std::string, std::string> contents) {
  return [contents = std::move(contents)](const std::string& name) -> Result<std::string> {
    const auto found = contents.find(name);
    if (found == contents.end())
      return make_error(ErrorKind::not_found, name + ": no such file");
    return found->second;
  };
}

inline Result<NvccTranslation> translate(const Words& words,
                                         const NvccContext& context = {{}, files({}), "", ""}) {
  return clang_arguments(words, context);
}

inline NvccTranslation translated(const Words& words, const NvccContext& context = {{}, files({}), "", ""}) {
  auto translation = translate(words, context);
  EXPECT_TRUE(translation) << join(words, " ") << "\n" << translation.error().message;
  return translation ? *std::move(translation) : NvccTranslation();
}

} // namespace xaas::frontdoor

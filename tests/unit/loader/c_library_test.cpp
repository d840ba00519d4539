#include <xaas/loader/c_library.h>

#include <xaas/base/file.h>

#include <gmock/gmock.h>

#include <glob.h>
#include <regex>

namespace xaas::loader {
namespace {

// glibc's own list, as <gnu/lib-names.h> includes it.
std::vector<std::string> names_of_glibc() {
  std::vector<std::string> names;
  for (const std::string pattern :
       {"/usr/include/gnu/lib-names*.h", "/usr/include/*-linux-gnu/gnu/lib-names*.h"}) {
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        const std::string text = *read_file(found.gl_pathv[i]);
        const std::regex definition("#define\\s+\\w+_SO\\s+\"([^\"]+)\"");
        for (auto at = std::sregex_iterator(text.begin(), text.end(), definition);
             at != std::sregex_iterator(); ++at)
          names.push_back((*at)[1]);
      }
    globfree(&found);
  }
  return names;
}

TEST(CLibrary, HasThePartsThatGlibcLists) {
  const std::vector<std::string> names = names_of_glibc();
  if (names.empty())
    GTEST_SKIP() << "SKIPPED: no <gnu/lib-names.h> on this machine";
  EXPECT_THAT(names, ::testing::Contains("libc.so.6"));
  for (const std::string& name : names) {
    // Listed there, and of other packages: GCC's, libxcrypt's, and a plugin that exists no more.
    if (name.starts_with("libgcc_s.") || name.starts_with("libcrypt.") || name.starts_with("libnss_ldap."))
      continue;
    EXPECT_TRUE(is_of_c_library(name)) << name;
  }
  EXPECT_FALSE(is_of_c_library("libgcc_s.so.1"));
}

} // namespace
} // namespace xaas::loader

// Files with credentials of registries (containers-auth.json(5), Docker's config.json and .dockercfg).
#include "fuzz.h"

#include "credentials.h"
#include <xaas/base/base64.h>

#include <xaas/base/file.h>
#include <xaas/base/json.h>

namespace {

using namespace xaas;

// Files that others write; the helpers that they name are not there.
struct World {
  TemporaryDirectory directory = *TemporaryDirectory::create();
  fs::path file = directory.path() / ".dockercfg";
  World() { setenv("PATH", directory.path().c_str(), 1); }
};

void check(const Result<registry::Credentials>& found) {
  require(found || found.error().kind == ErrorKind::usage || found.error().kind == ErrorKind::missing_tool,
          "kind of error");
}

// What `docker login` would write for them is read as the same.
void check_again(const World& world, const registry::Credentials& found) {
  if (found.empty() || found.user.find(':') != std::string::npos || found.password.ends_with('\0'))
    return;
  const std::string auth = encode_base64(found.user + ":" + found.password);
  const Json identity = found.identity_token;
  const std::string text = R"({"auths": {"https://r.example:5000/v2/": {"auth": ")" + auth +
                           R"(", "identitytoken": )" + identity.dump() + "}}}";
  require(static_cast<bool>(write_file(world.file, text, 0600, false)), "room for a file");
  const auto again = registry::find_credentials({world.file.string(), [](const char*) { return ""; }, {}},
                                                "r.example:5000", "a/b");
  require(again && again->user == found.user && again->password == found.password &&
              again->identity_token == found.identity_token,
          "the same again");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const World world;
  require(static_cast<bool>(
              write_file(world.file, std::string(reinterpret_cast<const char*>(data), size), 0600, false)),
          "room for the input");
  const std::string home = world.directory.path().string();
  const auto at_home = [&](const char* name) { return std::string_view(name) == "HOME" ? home : ""; };
  check(registry::find_credentials({"", at_home, {}}, "r.example:5000", "a/b"));
  check(registry::find_credentials({world.file.string(), at_home, {}}, "docker.io", "library/x"));
  const auto found = registry::find_credentials({world.file.string(), at_home, {}}, "r.example:5000", "a/b");
  check(found);
  if (found)
    check_again(world, *found);
  return 0;
}

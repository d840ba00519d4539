// References that users type, and a registry's challenges to unauthenticated requests. The parts of an
// accepted reference follow its grammar, so that they are safe in a URL, and its canonical form parses to the
// same.
#include "fuzz.h"

#include "challenge.h"
#include <xaas/base/base64.h>

#include <xaas/oci/reference.h>

#include <algorithm>

namespace {

using namespace xaas;

void reference(const std::string& text) {
  const Result<oci::Reference> read = oci::parse_reference(text);
  if (!read) {
    require(read.error().kind == ErrorKind::usage, "kind of error");
    return;
  }
  if (read->transport != oci::Transport::registry)
    return;
  const auto plain = [](const std::string& part, std::string_view more) {
    return std::all_of(part.begin(), part.end(), [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
    });
  };
  require(!read->host.empty() && plain(read->host, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-:[]"), "a host");
  require(!read->repository.empty() && plain(read->repository, "._-/"), "a name");
  require(read->repository.find("..") == std::string::npos &&
              read->repository.find("//") == std::string::npos && read->repository.front() != '/' &&
              read->repository.back() != '/',
          "a name of parts");
  const Result<oci::Reference> again = oci::parse_reference(
      "docker://" + read->host + "/" + read->repository + (read->tag.empty() ? "" : ":" + read->tag) +
      (read->digest ? "@" + read->digest->to_string() : ""));
  require(again && again->host == read->host && again->repository == read->repository &&
              again->tag == read->tag && again->digest == read->digest,
          "the same again");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  reference(text);
  reference("docker://" + text);
  for (const registry::Challenge& challenge : registry::parse_challenges(text))
    require(!challenge.scheme.empty(), "a scheme");
  require(decode_base64(encode_base64(text)) == text, "base64");
  static_cast<void>(decode_base64(text));
  return 0;
}

#include <xaas/store/content_store.h>

namespace xaas::store {

bool ContentStore::has(const Digest& digest) const {
  std::error_code code;
  return fs::exists(path_of(digest), code);
}

Result<Digest> ContentStore::put(std::string_view content) const {
  const Digest digest = digest_of(content);
  if (has(digest))
    return digest;
  XAAS_CHECK(make_directories(root_ / "sha256"));
  XAAS_CHECK(write_file(path_of(digest), content, 0644, false));
  return digest;
}

Result<std::string> ContentStore::get(const Digest& digest) const {
  XAAS_TRY(std::string content, read_file(path_of(digest)));
  if (digest_of(content) != digest)
    return make_error(ErrorKind::integrity, path_of(digest).string() + ": content does not match its digest");
  return content;
}

} // namespace xaas::store

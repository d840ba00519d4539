#include <xaas/base/trust.h>

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas {

namespace {

Result<void> check_status(const fs::path& path, const std::vector<uid_t>& owners, bool sticky_will_do) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0)
    return errno_error(errno, "reading " + path.string());
  if (std::find(owners.begin(), owners.end(), status.st_uid) == owners.end())
    return make_error(ErrorKind::storage,
                      path.string() + ": belongs to user " + std::to_string(status.st_uid) +
                          ", who is neither root nor you",
                      "only files of root or your own are trusted");
  if ((status.st_mode & 022) != 0 && !(sticky_will_do && (status.st_mode & S_ISVTX)))
    return make_error(ErrorKind::storage, path.string() + ": users other than its owner can write to it",
                      "`chmod go-w` it");
  return {};
}

} // namespace

std::vector<uid_t> trusted_owners(const fs::path& program) {
  std::vector<uid_t> owners = {0};
  const auto add = [&owners](uid_t owner) {
    if (std::find(owners.begin(), owners.end(), owner) == owners.end())
      owners.push_back(owner);
  };
  add(geteuid());
  struct stat status{};
  if (stat(program.c_str(), &status) == 0)
    add(status.st_uid);
  return owners;
}

Result<void> check_trusted(const fs::path& path, const std::vector<uid_t>& owners) {
  return check_status(path, owners, false);
}

Result<void> check_trusted_place(const fs::path& path, const std::vector<uid_t>& owners) {
  std::error_code code;
  const fs::path real = fs::canonical(path, code);
  if (code)
    return errno_error(code.value(), "reading " + path.string());
  return check_status(real.parent_path(), owners, true);
}

} // namespace xaas

#include "site_modules.h"

#include "module_files.h"

#include <xaas/base/file_descriptor.h>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace xaas::install {

namespace {

constexpr uint64_t largest_module = uint64_t(1) << 20;

bool is_there(const fs::path& path) {
  std::error_code code;
  return fs::symlink_status(path, code).type() != fs::file_type::not_found;
}

Error taken(const std::string& path, const fs::path& prefix) {
  return make_error(ErrorKind::usage,
                    path + ": exists, and does not belong to the installation in " + prefix.string(),
                    "`--module NAME/VERSION` gives the module another name");
}

// link(2) makes the whole file appear, or nothing if there is one already.
Result<void> write_new(const fs::path& path, const std::string& text, const fs::path& prefix) {
  XAAS_TRY(const TemporaryDirectory beside, TemporaryDirectory::create(path.parent_path(), ".xaas-tmp-"));
  const fs::path made = beside.path() / "module";
  XAAS_CHECK(write_file(made, text));
  if (::link(made.c_str(), path.c_str()) == 0)
    return {};
  return errno == EEXIST ? taken(path, prefix) : errno_error(errno, "writing " + path.string());
}

} // namespace

// An unchanged file of the old installation. False if there is none; an error if there is another one.
Result<bool> SiteModules::is_own(const std::string& path) const {
  if (!is_there(path))
    return false;
  const auto known = old_.find(path);
  if (known == old_.end())
    return taken(path, prefix_);
  XAAS_TRY(const std::string text, read_plain_file(path, largest_module));
  if (digest_of(text) != known->second)
    return make_error(ErrorKind::usage, path + ": has changed since it was installed",
                      "move it away; the installation is replaced as a whole");
  return true;
}

Result<void> SiteModules::check() const {
  for (const auto& [path, text] : texts_) {
    XAAS_TRY([[maybe_unused]] const bool own, is_own(path));
  }
  return {};
}

Result<void> SiteModules::claim() {
  for (const auto& [path, text] : texts_) {
    XAAS_CHECK(make_directories(fs::path(path).parent_path()));
    XAAS_TRY(const bool own, is_own(path));
    if (own)
      continue;
    XAAS_CHECK(write_new(path, text, prefix_));
    claimed_.push_back(path);
  }
  return {};
}

Result<void> SiteModules::finish() {
  claimed_.clear();
  for (const auto& [path, text] : texts_)
    if (old_.contains(path))
      XAAS_CHECK(write_file(path, text));
  for (const auto& [path, digest] : old_)
    if (!texts_.contains(path)) {
      XAAS_TRY([[maybe_unused]] const bool removed, remove_module(prefix_, path, digest));
    }
  return {};
}

SiteModules::~SiteModules() {
  for (const std::string& path : claimed_)
    static_cast<void>(remove_module(prefix_, path, digest_of(texts_.at(path))));
}

Result<bool> remove_module(const fs::path& prefix, const fs::path& path, const Digest& digest) {
  if (!is_there(path))
    return true;
  const Result<std::string> text = read_plain_file(path, largest_module);
  if (!text || digest_of(*text) != digest || !is_module_of(*text, prefix))
    return false;
  std::error_code code;
  fs::remove(path, code);
  if (code)
    return errno_error(code.value(), "removing " + path.string());
  fs::remove(path.parent_path(), code); // only if it is empty
  return true;
}

} // namespace xaas::install

#include "tree.h"

#include <xaas/base/process.h>

#include <algorithm>
#include <system_error>
#include <unistd.h>

namespace xaas::project {

namespace {

Error file_error(const std::error_code& code, const std::string& what) {
  Error error = errno_error(code.value(), what);
  if (code == std::errc::permission_denied)
    error.hint = "give it read permission, or move it out of the source tree";
  return error;
}

// A link in the copy. An absolute link into the original tree leads into the copy; a relative link out of the
// tree would lead elsewhere from the copy, so it becomes absolute.
fs::path link_target(const fs::path& link, const fs::path& target, const fs::path& from, const fs::path& to) {
  const fs::path meant = (target.is_absolute() ? target : link.parent_path() / target).lexically_normal();
  const bool inside = meant == from || !relative_under(meant, from).empty();
  if (target.is_absolute())
    return inside ? (to / meant.lexically_relative(from)).lexically_normal() : target;
  return inside ? target : meant;
}

Result<void> copy_link(const fs::path& link, const fs::path& target, const fs::path& to) {
  std::error_code code;
  fs::remove(to, code);
  fs::create_symlink(target, to, code);
  if (code)
    return file_error(code, "copying the link " + link.string() + " to " + to.string());
  return {};
}

Result<void> copy_regular(const fs::path& from, const fs::path& to, bool keep_time) {
  std::error_code code;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, code);
  if (code)
    return file_error(code, "copying " + from.string() + " to " + to.string());
  const fs::file_status status = fs::status(from, code);
  if (!code)
    fs::permissions(to, status.permissions(), code);
  if (!code && keep_time) {
    const fs::file_time_type time = fs::last_write_time(from, code);
    if (!code)
      fs::last_write_time(to, time, code);
  }
  if (code)
    return file_error(code, "copying the mode and time of " + from.string() + " to " + to.string());
  return {};
}

// We can always write to the copy's directories, whatever the original's permissions.
Result<void> copy_directory(const fs::path& from, const fs::path& to) {
  XAAS_CHECK(make_directories(to));
  std::error_code code;
  const fs::file_status status = fs::status(from, code);
  if (!code)
    fs::permissions(to, status.permissions() | fs::perms::owner_all, code);
  if (code)
    return file_error(code, "copying the mode of " + from.string() + " to " + to.string());
  return {};
}

struct TreeCopy {
  fs::path from, to;
  const std::vector<fs::path>& skip;
  bool sources;

  bool skipped(const fs::path& path) const {
    return (sources && path.filename() == ".git") || std::find(skip.begin(), skip.end(), path) != skip.end();
  }

  // Installing replaces no file and writes through no link.
  Result<void> check_place(const fs::path& copy, bool is_directory) const {
    std::error_code code;
    const fs::file_type type = fs::symlink_status(copy, code).type();
    if (sources || type == fs::file_type::not_found || (is_directory && type == fs::file_type::directory))
      return {};
    return make_error(ErrorKind::usage, copy.string() + " is installed twice");
  }

  Result<void> entry(const fs::directory_entry& entry, const fs::path& copy) {
    std::error_code code;
    const fs::file_status status = entry.symlink_status(code);
    if (code)
      return file_error(code, "reading " + entry.path().string());
    XAAS_CHECK(check_place(copy, status.type() == fs::file_type::directory));
    switch (status.type()) {
    case fs::file_type::directory:
      return directory(entry.path(), copy);
    case fs::file_type::symlink: {
      const fs::path target = fs::read_symlink(entry.path(), code);
      if (code)
        return file_error(code, "reading the link " + entry.path().string());
      return copy_link(entry.path(), sources ? link_target(entry.path(), target, from, to) : target, copy);
    }
    case fs::file_type::regular:
      return copy_regular(entry.path(), copy, sources);
    default:
      if (!sources)
        return make_error(ErrorKind::failed,
                          entry.path().string() + ": is a special file (socket, pipe, device)");
      return {}; // not a source file
    }
  }

  Result<void> directory(const fs::path& source, const fs::path& copy) {
    XAAS_CHECK(check_interrupt());
    XAAS_CHECK(copy_directory(source, copy));
    std::error_code code;
    fs::directory_iterator entries(source, code);
    if (code)
      return file_error(code, "reading the directory " + source.string());
    for (; entries != fs::directory_iterator(); entries.increment(code)) {
      if (!skipped(entries->path()))
        XAAS_CHECK(entry(*entries, copy / entries->path().filename()));
      if (code)
        break;
    }
    if (code)
      return file_error(code, "reading the directory " + source.string());
    return {};
  }
};

} // namespace

Result<void> copy_sources(const fs::path& from, const fs::path& to, const std::vector<fs::path>& skip) {
  std::error_code code;
  // Resolved once, so that paths can be compared: the caller may name either directory through a link.
  const fs::path source = fs::canonical(from, code);
  if (code)
    return file_error(code, "reading the source tree " + from.string());
  std::vector<fs::path> left_out;
  for (const fs::path& path : skip)
    left_out.push_back(fs::weakly_canonical(path, code));
  const fs::path copy = fs::weakly_canonical(to, code);
  left_out.push_back(copy);
  return TreeCopy{source, copy, left_out, true}.directory(source, copy);
}

fs::path first_unreadable(const fs::path& tree) {
  std::error_code code;
  for (fs::recursive_directory_iterator it(tree, fs::directory_options::skip_permission_denied, code), end;
       !code && it != end; it.increment(code)) {
    std::error_code ignored;
    if (it->path().filename().string().starts_with("."))
      it.disable_recursion_pending();
    else if (!it->is_symlink(ignored) &&
             access(it->path().c_str(), it->is_directory(ignored) ? R_OK | X_OK : R_OK) != 0)
      return it->path();
  }
  return {};
}

Result<void> install_entry(const fs::path& from, const fs::path& root, const fs::path& prefix,
                           const fs::path& to) {
  std::error_code code;
  const fs::directory_entry entry(from, code);
  if (code || !fs::exists(entry.symlink_status(code)))
    return make_error(
        ErrorKind::failed, "no file " + from.string() + " to install",
        "`from` in build.install is relative to the build directory; is it made by the default target?");
  XAAS_CHECK(make_directories(root));
  fs::path place = root;
  const fs::path whole = prefix / to;
  for (const fs::path& part : whole.parent_path()) {
    place /= part;
    const fs::file_type type = fs::symlink_status(place, code).type();
    if (type != fs::file_type::not_found && type != fs::file_type::directory)
      return make_error(ErrorKind::usage, "`" + to.string() +
                                              "`: " + place.lexically_relative(root).string() +
                                              " is installed as a file or link, not as a directory");
    XAAS_CHECK(make_directories(place));
  }
  return TreeCopy{from, root / whole, {}, false}.entry(entry, root / whole).in("`" + to.string() + "`");
}

} // namespace xaas::project

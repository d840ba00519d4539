// git is asked instead of reading .gitignore, because only git knows all its rules: negations, directories,
// nested files, and files that a repository tracks in spite of them. A tree without a repository is shown to
// git as the work tree of an empty one, so that an archive gives the same files as a checkout.
#include "source_files.h"
#include "git.h"

#include <xaas/base/glob.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <set>

namespace xaas::build {

namespace {

constexpr unsigned deepest_repository = 16; // within each other

bool is_below(const fs::path& path, const fs::path& directory) {
  return path == directory || !relative_under(path, directory).empty();
}

bool is_version_control(const fs::path& path) {
  static const std::set<std::string> names = {".git", ".hg", ".svn", ".bzr", "CVS", "_darcs"};
  return names.contains(path.filename().string());
}

class Lister {
public:
  Lister(const fs::path& source, const std::vector<std::string>& include, const std::vector<fs::path>& skip)
      : source_(fs::absolute(source).lexically_normal()), include_(include) {
    for (const fs::path& path : skip)
      if (fs::path own = fs::absolute(path).lexically_normal(); !relative_under(own, source_).empty())
        skip_.push_back(std::move(own));
  }

  Result<SourceFiles> run() {
    XAAS_TRY(everything_, walk());
    const bool has_rules = std::any_of(everything_.begin(), everything_.end(),
                                       [](const fs::path& path) { return path.filename() == ".gitignore"; });
    if (!find_program("git") && has_rules)
      return make_error(ErrorKind::missing_tool,
                        source_.string() + ": has a .gitignore, and git, which reads it, is not on PATH",
                        "install git");
    if (has_rules || lies_in_repository(source_)) {
      XAAS_CHECK(ask_git(source_, 0));
    } else {
      kept_.insert(everything_.begin(), everything_.end());
    }
    for (const fs::path& path : everything_)
      if (is_included(path))
        kept_.insert(path);
    return finish();
  }

private:
  bool is_included(const fs::path& path) const {
    return std::any_of(include_.begin(), include_.end(), [&](const std::string& pattern) {
      return glob_match(pattern, path.string()) || glob_match(pattern + "/*", path.string());
    });
  }

  // All files and links, except those that are never part of sources.
  Result<std::vector<fs::path>> walk() const {
    std::vector<fs::path> files;
    std::error_code code;
    fs::recursive_directory_iterator it(source_, code);
    for (; !code && it != fs::recursive_directory_iterator(); it.increment(code)) {
      const fs::path& path = it->path();
      const bool skipped =
          std::any_of(skip_.begin(), skip_.end(), [&](const fs::path& each) { return is_below(path, each); });
      if (is_version_control(path) || skipped) {
        it.disable_recursion_pending();
        continue;
      }
      if (it->is_symlink(code) || !it->is_directory(code))
        files.push_back(path.lexically_relative(source_));
    }
    if (code)
      return errno_error(code.value(), "reading " + source_.string());
    return files;
  }

  // The files below a directory that git counts as part of the project.
  Result<void> ask_git(const fs::path& directory, unsigned depth) {
    if (depth > deepest_repository)
      return make_error(ErrorKind::failed, directory.string() + ": repositories are nested too deeply");
    XAAS_TRY(std::vector<std::string> names, names_in(directory));
    for (const std::string& name : names) {
      const fs::path path = (directory / name).lexically_normal();
      std::error_code code;
      // A directory that git lists as a whole is a repository of its own.
      if (fs::is_directory(fs::symlink_status(path, code)))
        XAAS_CHECK(ask_git(path.has_filename() ? path : path.parent_path(), depth + 1));
      else
        kept_.insert(path.lexically_relative(source_));
    }
    return {};
  }

  // If git tracks no file there, the directory is not part of the repository that contains it.
  Result<std::vector<std::string>> names_in(const fs::path& directory) const {
    if (lies_in_repository(directory)) {
      XAAS_TRY(const ProcessResult known, Git(directory).run({"ls-files", "-z", "--cached", "--", "."}));
      if (known.exit_code == 0 && !known.output.empty())
        return names(directory, Git(directory), {"--cached", "--others"});
    }
    XAAS_TRY(const TemporaryDirectory empty, TemporaryDirectory::create(temporary_root(), "xaas-git-"));
    XAAS_TRY(const ProcessResult made,
             Git(directory).run({"init", "--quiet", "--bare", "--template=", empty.path().string()}));
    if (made.exit_code != 0)
      return make_error(ErrorKind::failed, "git init for the sources in " + directory.string() + " failed")
          .with_output(made.output);
    return names(directory, Git(directory, empty.path()), {"--others"});
  }

  static Result<std::vector<std::string>> names(const fs::path& directory, const Git& git,
                                                std::vector<std::string> what) {
    what.insert(what.begin(), {"ls-files", "-z", "--exclude-per-directory=.gitignore"});
    what.insert(what.end(), {"--", "."});
    XAAS_TRY(const ProcessResult listed, git.run(what));
    if (listed.exit_code != 0)
      return make_error(ErrorKind::failed, "git ls-files in " + directory.string() + " failed")
          .with_output(listed.output);
    std::vector<std::string> names = split(listed.output, '\0');
    std::erase(names, "");
    return names;
  }

  Result<SourceFiles> finish() const {
    SourceFiles result;
    for (const fs::path& path : everything_) {
      if (!kept_.contains(path)) {
        result.ignored.push_back(path);
        continue;
      }
      std::error_code code;
      const fs::file_status status = fs::symlink_status(source_ / path, code);
      if (fs::is_symlink(status) && fs::read_symlink(source_ / path, code).is_absolute())
        return make_error(ErrorKind::failed,
                          (source_ / path).string() + ": is a link to " +
                              fs::read_symlink(source_ / path, code).string() +
                              ", which is another file on the machine where the image is deployed",
                          "make it a relative link into the sources, or a file");
      if (!fs::is_symlink(status) && !fs::is_regular_file(status))
        return make_error(ErrorKind::failed, (source_ / path).string() + ": is a special file",
                          "take it out of the sources, or name it in a .gitignore");
      result.files.push_back(path);
    }
    std::sort(result.files.begin(), result.files.end());
    std::sort(result.ignored.begin(), result.ignored.end());
    return result;
  }

  fs::path source_;
  const std::vector<std::string>& include_;
  std::vector<fs::path> skip_;
  std::vector<fs::path> everything_;
  std::set<fs::path> kept_;
};

} // namespace

Result<SourceFiles> list_sources(const fs::path& source, const std::vector<std::string>& include,
                                 const std::vector<fs::path>& skip) {
  return Lister(source, include, skip).run();
}

} // namespace xaas::build

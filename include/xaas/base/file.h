// Files: whole reads, atomic writes, temporary directories. Paths in errors are those given.
#pragma once

#include <xaas/base/result.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace xaas {

namespace fs = std::filesystem;

// The whole content of a regular file. A file larger than `limit` bytes is an integrity error.
Result<std::string> read_file(const fs::path& path, uint64_t limit = uint64_t(1) << 40);

// The same of what a program left that may be anybody's: a file that is neither a link nor a pipe or device,
// which could have no end or none to write to it. Anything else is an integrity error.
Result<std::string> read_plain_file(const fs::path& path, uint64_t limit);

// Writes a file by write, fsync, rename: readers see the old content or the new one, never a part, and a
// killed writer leaves at most a file named `.xaas-tmp-*` beside it. Any number of writers may race; one of
// them wins. With `durable` false the fsync is left out: for files that a crash of the machine may cost.
Result<void> write_file(const fs::path& path, std::string_view content, unsigned mode = 0644,
                        bool durable = true);

// Writes what a user or a build named as an output: a file as `write_file` does, without fsync. `/dev/null`,
// a pipe or another special file is written to and stays what it is.
Result<void> write_output(const fs::path& path, std::string_view content, unsigned mode = 0644);

// The same as `write_file`, piece by piece: a file that appears under its name when it is committed, and
// never if it is not.
class FileWriter {
public:
  static Result<FileWriter> create(const fs::path& path, unsigned mode = 0644);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();
  Result<void> write(std::string_view data);
  Result<void> commit(bool durable = true);                          // once
  Result<void> commit_as(const fs::path& path, bool durable = true); // in the same directory, or below

private:
  FileWriter(fs::path path, std::string temporary, int file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}
  fs::path path_;
  std::string temporary_; // empty: committed
  int file_;
};

// mkdir -p. An existing directory is no error.
Result<void> make_directories(const fs::path& path);

// Copies content and permission bits of a regular file, by write and rename.
Result<void> copy_file(const fs::path& from, const fs::path& to);

// Removes a tree, also one with directories that lack write permission; what is missing is no error.
void remove_tree(const fs::path& path);

// The directory for temporary files: $TMPDIR, else /tmp.
fs::path temporary_root();

// A directory of mode 0700 that is removed with all that is in it when the object goes. It is locked (flock)
// while it is in use, so that what a killed process left behind can be told from what is in use.
class TemporaryDirectory {
public:
  // Creates `<parent>/<prefix><machine>-XXXXXX`, where <machine> stands for this machine since it was
  // started.
  static Result<TemporaryDirectory> create(const fs::path& parent = temporary_root(),
                                           const std::string& prefix = "xaas-");
  // Creates `<parent>/<prefix><name>`, for work whose results may have the directory's path in them and
  // should be the same each time. What a killed process left there goes. Where somebody else has it, the name
  // is as above. `name` is a file name.
  static Result<TemporaryDirectory> create_named(const fs::path& parent, const std::string& prefix,
                                                 const std::string& name);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  ~TemporaryDirectory();
  const fs::path& path() const { return path_; }

private:
  TemporaryDirectory(fs::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  fs::path path_;
  int lock_ = -1;
};

// Removes what killed processes left in `parent`: temporary directories with this prefix that this user made
// on this machine since it was started, and that no process has locked. What cannot be told for certain
// (another machine's, a file system without locks) stays. Returns the removed paths.
std::vector<fs::path> remove_abandoned(const fs::path& parent = temporary_root(),
                                       const std::string& prefix = "xaas-");

// `path` made relative to `root` if it lies under it (lexically, after normalisation), else an empty path.
fs::path relative_under(const fs::path& path, const fs::path& root);

} // namespace xaas

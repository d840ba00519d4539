// Files: whole reads, atomic writes, temporary directories. Errors name paths as they were given.
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

// The same for a file that an untrusted program may have left. Anything but a plain file is an integrity
// error: a link, or a pipe or device, which could block or never end.
Result<std::string> read_plain_file(const fs::path& path, uint64_t limit);

// Writes a file by write, fsync, rename: readers see the old content or the new one, never a part, and a
// killed writer leaves at most a file named `.xaas-tmp-*` beside it. Any number of writers may race; one of
// them wins. With `durable` false it skips the fsync, for files that may be lost if the machine crashes.
Result<void> write_file(const fs::path& path, std::string_view content, unsigned mode = 0644,
                        bool durable = true);

// Appends whole lines in one write, because several processes may do so at once. Not durable.
Result<void> append_file(const fs::path& path, std::string_view lines);

// Writes an output that a user or a build named: a file as `write_file` does, without fsync. It writes to
// `/dev/null`, a pipe or another special file without replacing it.
Result<void> write_output(const fs::path& path, std::string_view content, unsigned mode = 0644);

// An incremental `write_file`: the file appears under its name when it is committed, and otherwise never.
class FileWriter {
public:
  static Result<FileWriter> create(const fs::path& path, unsigned mode = 0644);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();
  Result<void> write(std::string_view data);
  Result<void> commit(bool durable = true);                          // once
  Result<void> commit_as(const fs::path& path, bool durable = true); // in or below the same directory

private:
  FileWriter(fs::path path, std::string temporary, int file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}
  fs::path path_;
  std::string temporary_; // empty: committed
  int file_;
};

// mkdir -p. An existing directory is not an error.
Result<void> make_directories(const fs::path& path);

// Copies content and permission bits of a regular file, by write and rename.
Result<void> copy_file(const fs::path& from, const fs::path& to);

// Removes a tree, even if directories in it lack write permission. A missing tree is not an error.
void remove_tree(const fs::path& path);

// The directory for temporary files: $TMPDIR, else /tmp.
fs::path temporary_root();

// A directory of mode 0700, removed with its content when the object is destroyed. It is locked (flock) while
// in use, which distinguishes it from a directory that a killed process left behind.
class TemporaryDirectory {
public:
  // Creates `<parent>/<prefix><machine>-XXXXXX`, where <machine> identifies this machine since its last boot.
  static Result<TemporaryDirectory> create(const fs::path& parent = temporary_root(),
                                           const std::string& prefix = "xaas-");
  // Creates `<parent>/<prefix><name>`, for work whose results may contain the directory's path and should be
  // reproducible. Removes what a killed process left there. If the name is in use, chooses one as above.
  // `name` is a file name.
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

// Removes what killed processes left in `parent`: temporary directories with this prefix that this user
// created on this machine since its last boot, and that no process has locked. Uncertain cases stay
// (directories of another machine, file systems without locks). Returns the removed paths.
std::vector<fs::path> remove_abandoned(const fs::path& parent = temporary_root(),
                                       const std::string& prefix = "xaas-");

// `path` relative to `root` if it lies under `root` (lexically, after normalization), else an empty path.
fs::path relative_under(const fs::path& path, const fs::path& root);

} // namespace xaas

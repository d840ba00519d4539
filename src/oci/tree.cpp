#include <xaas/base/process.h>
#include <xaas/base/umask.h>
#include <xaas/oci/tree.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::oci {

namespace {

Result<void> sync_file(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int code = errno;
  if (file >= 0)
    close(file);
  return synced ? Result<void>() : errno_error(code, "writing " + path.string());
}

Result<void> make_squashfs(const fs::path& tree, const fs::path& file, int64_t time) {
  const std::string date = std::to_string(time);
  // This variable and the date options exclude each other.
  const Command command{.arguments = {"env", "-u", "SOURCE_DATE_EPOCH", "mksquashfs", tree.string(),
                                      file.string(), "-noappend", "-no-progress", "-all-root", "-no-xattrs",
                                      "-mkfs-time", date, "-all-time", date}};
  XAAS_TRY(const ProcessResult result, xaas::run_process(command));
  if (result.exit_code == 0)
    return {};
  Error error = make_error(ErrorKind::failed, "mksquashfs exits with " + std::to_string(result.exit_code));
  error.output = result.output;
  return error;
}

} // namespace

Result<void> write_tree(const Reference& reference, const Layers& layers, int64_t time,
                        const TreeImage& image) {
  const UserUmask users;
  const std::vector<AddedFile> files = {
      {.path = tree_image_file, .content = describe_tree(image.digest, image.config, image.annotations)},
      {.path = "etc/rc", .content = start_script(image.config), .mode = 0755, .if_missing = true},
      {.path = "etc/environment", .content = environment_file(image.config), .if_missing = true}};
  if (reference.transport == Transport::rootfs)
    return unpack_with(layers, reference.path, files);
  if (reference.transport != Transport::squashfs)
    return make_error(ErrorKind::usage, reference.text + ": this transport does not write a tree");
  const fs::path parent = fs::absolute(reference.path).parent_path();
  XAAS_CHECK(make_directories(parent));
  // The many small files belong on a local disk; the single file is created beside its destination.
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create());
  XAAS_CHECK(unpack_with(layers, work.path() / "rootfs", files));
  remove_abandoned(parent, ".xaas-tmp-");
  XAAS_TRY(const TemporaryDirectory beside, TemporaryDirectory::create(parent, ".xaas-tmp-"));
  const fs::path made = beside.path() / "image";
  XAAS_CHECK(make_squashfs(work.path() / "rootfs", made, time));
  XAAS_CHECK(sync_file(made));
  if (chmod(made.c_str(), with_umask(0644)) != 0 || std::rename(made.c_str(), reference.path.c_str()) != 0)
    return errno_error(errno, "writing " + reference.path.string());
  return {};
}

Result<void> check_squashfs(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    return errno_error(errno, "reading " + file.string());
  char magic[4] = {};
  if (!stream.read(magic, sizeof(magic)) || std::string_view(magic, sizeof(magic)) != "hsqs")
    return make_error(ErrorKind::usage, file.string() + ": not a squashfs file");
  return {};
}

Result<void> unpack_squashfs(const fs::path& file, const fs::path& directory) {
  if (!find_program("unsquashfs"))
    return make_error(ErrorKind::missing_tool, file.string() + ": unsquashfs is missing",
                      "install the package squashfs-tools, or use rootfs:DIR, which needs no tool");
  XAAS_TRY(const TemporaryDirectory beside,
           TemporaryDirectory::create(directory.parent_path(), ".xaas-tmp-"));
  const fs::path made = beside.path() / "rootfs";
  const Command command{.arguments = {"unsquashfs", "-no-progress", "-no-xattrs", "-dest", made.string(),
                                      fs::absolute(file).string()}};
  XAAS_TRY(const ProcessResult result, xaas::run_process(command));
  if (result.exit_code != 0) {
    Error error = make_error(ErrorKind::failed,
                             file.string() + ": unsquashfs exits with " + std::to_string(result.exit_code));
    error.output = result.output;
    return error;
  }
  std::error_code code;
  fs::rename(made, directory, code);
  return code ? errno_error(code.value(), "writing " + directory.string()) : Result<void>();
}

} // namespace xaas::oci

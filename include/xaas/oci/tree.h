// Images as file trees: a directory (`rootfs:`), or a single file for a cluster's file system (`squashfs:`).
#pragma once

#include <xaas/base/progress.h>
#include <xaas/oci/layer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace xaas::oci {

// The file of a tree that keeps what only the image's manifest and configuration have: entry point, command,
// environment, working directory, architecture and annotations. docs/image-format.md describes it.
inline constexpr const char* tree_image_file = ".xaas/image.json";

// The text of that file.
std::string describe_tree(const Digest& manifest, const ImageConfig& config,
                          const std::map<std::string, std::string>& annotations);

// The image that the text describes. It has neither layers nor blobs. Integrity error that begins with
// `where` if the text is malformed; unsatisfied for a newer version.
Result<std::unique_ptr<Image>> open_described(const Reference& reference, const std::string& text,
                                              const std::string& where);

// The files by which enroot and pyxis start a tree: /etc/rc, a shell script with the working directory, the
// entry point and its arguments, and /etc/environment, in which no value has several lines. Source: enroot,
// doc/image-format.md; what its import writes for Docker's images.
std::string start_script(const ImageConfig& config);
std::string environment_file(const ImageConfig& config);

// What a tree keeps of an image beyond its layers.
struct TreeImage {
  Digest digest; // of the manifest
  const ImageConfig& config;
  const std::map<std::string, std::string>& annotations;
};

// Writes the tree of these layers (checked, in order) as unpack() does. It adds missing mount points, which
// runtimes cannot create in a read-only tree: /dev, /proc, /sys, /tmp, /home, and empty /etc/passwd,
// /etc/group, /etc/hosts, /etc/resolv.conf; the tree_image_file; and, unless the layers have them, the files
// for enroot. `mksquashfs` writes a
// squashfs file (missing_tool without it), in which root owns everything and all times are `time`. It
// replaces an older file when it is complete; equal layers and images give equal bytes.
Result<void> write_tree(const Reference& reference, const Layers& layers, int64_t time,
                        const TreeImage& image);

// usage for a file that does not begin as squashfs files do.
Result<void> check_squashfs(const fs::path& file);

// Unpacks a squashfs file into a directory, which appears when it is complete. missing_tool without
// `unsquashfs`.
Result<void> unpack_squashfs(const fs::path& file, const fs::path& directory);

} // namespace xaas::oci

// Images as file trees: a directory (`rootfs:`), or one file for a cluster's file system (`squashfs:`).
#pragma once

#include <xaas/base/progress.h>
#include <xaas/oci/layer.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace xaas::oci {

// Writes the tree of these layers (checked, in their order) as unpack does. Where the image has nothing
// there, it gets what runtimes mount over and cannot make in a tree that they may not write: /dev, /proc,
// /sys, /tmp, /home, and empty /etc/passwd, /etc/group, /etc/hosts, /etc/resolv.conf. A squashfs file is
// written by `mksquashfs` (missing_tool without it), belongs to root, is dated `time` throughout, and
// replaces an older one when it is whole; the same layers give the same bytes.
Result<void> write_tree(const Reference& reference, const Layers& layers, int64_t time);

} // namespace xaas::oci

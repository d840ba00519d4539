// Images as file trees: a directory (`rootfs:`), or a single file for a cluster's file system (`squashfs:`).
#pragma once

#include <xaas/base/progress.h>
#include <xaas/oci/layer.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace xaas::oci {

// Writes the tree of these layers (checked, in order) as unpack() does. It adds missing mount points, which
// runtimes cannot create in a read-only tree: /dev, /proc, /sys, /tmp, /home, and empty /etc/passwd,
// /etc/group, /etc/hosts, /etc/resolv.conf. `mksquashfs` writes a squashfs file (missing_tool without it), in
// which root owns everything and all times are `time`. It replaces an older file when it is complete; equal
// layers give equal bytes.
Result<void> write_tree(const Reference& reference, const Layers& layers, int64_t time);

} // namespace xaas::oci

// Files of device code, recognized by their contents.
#pragma once

#include <xaas/base/result.h>
#include <xaas/link/installed.h>
#include <xaas/session/session.h>

#include <optional>
#include <string_view>

namespace xaas::harvest {

// Records the units that the finished `file` was compiled from. If several compiles give the same content,
// the record does not depend on their order.
Result<void> remember_device_file(const session::Session& session, const fs::path& file,
                                  const link::DeviceFile& device);

// Identifies a file of device code by its contents; nothing if it has no device code. Failed: the front
// door's record cannot be read.
Result<std::optional<link::DeviceFile>> device_file_of(const session::Session& session,
                                                       std::string_view content);

} // namespace xaas::harvest

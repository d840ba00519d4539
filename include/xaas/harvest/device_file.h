// Files of device code, known again by their contents.
#pragma once

#include <xaas/base/result.h>
#include <xaas/link/installed.h>
#include <xaas/session/session.h>

#include <optional>
#include <string_view>

namespace xaas::harvest {

// Writes down what the finished `file` was compiled from. Where several compiles give the same content, the
// same one is kept whatever their order.
Result<void> remember_device_file(const session::Session& session, const fs::path& file,
                                  const link::DeviceFile& device);

// What a file with these contents is that no link, archive or compile for the host made; nothing if it has no
// device code. Errors: what the front door wrote down cannot be read.
Result<std::optional<link::DeviceFile>> device_file_of(const session::Session& session,
                                                       std::string_view content);

} // namespace xaas::harvest

// Warnings about an image, as JSON and as text.
#pragma once

#include <xaas/base/json.h>
#include <xaas/image/warning.h>

#include <string>
#include <vector>

namespace xaas::cli {

Json warnings_json(const std::vector<image::Warning>& warnings);

// A line for each; without `all`, the first few of each kind, so that a long list of one kind does not hide
// another.
std::string warnings_text(const std::vector<image::Warning>& warnings, bool all);

} // namespace xaas::cli

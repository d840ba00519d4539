// The report of a build, as JSON and as text.
#pragma once

#include <xaas/base/json.h>
#include <xaas/build/build.h>

#include <string>
#include <vector>

namespace xaas::cli {

Json report_json(const build::Report& report, const std::string& image);

Json report_json(const build::IndexReport& report, const std::string& image);

// `all`: list every name instead of a count.
std::string report_text(const build::Report& report, const std::string& image, bool all);
std::string report_text(const build::IndexReport& report, const std::string& image, bool all);

} // namespace xaas::cli

// The report of a deploy, as JSON and as text.
#pragma once

#include <xaas/base/json.h>
#include <xaas/deploy/deploy.h>

#include <string>

namespace xaas::cli {

Json report_json(const deploy::Report& report);
Json report_json(const deploy::IndexReport& report);

struct Details {
  bool explained; // the selection was printed, so the text has the kernels instead
  bool all;       // every kernel instead of the first few
};
std::string report_text(const deploy::Report& report, const Details& details);
std::string report_text(const deploy::IndexReport& report, const Details& details);

} // namespace xaas::cli

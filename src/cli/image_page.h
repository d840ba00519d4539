// A page about an IR or source image: what it can be specialized for, which sources its configurations share,
// and what deploying each of them moves.
//
// HTML 5 in one file: no scripts, and nothing is loaded from elsewhere. The same inputs give the same bytes.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/bundle.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::cli {

// A source, or several compiles of one: for each configuration, in the bundle's order, the number of the set
// of IR modules that it becomes there. Numbers count from 1 in their order in the row; 0: it is not compiled.
struct SourceRow {
  std::string source;
  std::vector<unsigned> variants;
  unsigned distinct = 0; // the highest number
};
// Those with most variants first, then by name. Integrity error as for image::usage_of.
Result<std::vector<SourceRow>> source_rows(const image::Bundle& bundle);

// A file that `deploy --trace` wrote.
struct TraceFile {
  std::string name;
  Json content;
};
// `description` is that of describe_ir(). Integrity error as for image::usage_of, or one that names the file
// of a damaged trace.
Result<std::string> image_page(const image::Bundle& bundle, const Json& description,
                               const std::optional<TraceFile>& trace);

} // namespace xaas::cli

// The contents of an IR image, as JSON and as text.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/deploy/kernels.h>
#include <xaas/image/application_image.h>

#include <optional>
#include <string>

namespace xaas::cli {

Json layers_json(const oci::Image& image);
Json points_json(const std::vector<spec::SpecializationPoint>& points);

// `kernels`: absent if they were not asked for.
Result<Json> describe_ir(const image::ApplicationImage& ir,
                         const std::optional<deploy::ImageKernels>& kernels = {});

// The same document as text. `all`: list every name instead of a count.
std::string coverage_text(const Json& json, bool all);

} // namespace xaas::cli

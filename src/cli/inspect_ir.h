// What an IR image holds, as JSON and for people.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/application_image.h>

#include <string>

namespace xaas::cli {

Json layers_json(const oci::Image& image);
Json points_json(const std::vector<spec::SpecializationPoint>& points);

Result<Json> describe_ir(const image::ApplicationImage& ir);

// The parts of that document, as text. With `all` every name that is otherwise only counted.
std::string coverage_text(const Json& json, bool all);

} // namespace xaas::cli

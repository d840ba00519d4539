// --verify-key: the key that must have signed an image.
#pragma once

#include <xaas/base/json.h>
#include <xaas/provenance/signature.h>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace xaas::cli {

void add_verify_key(CLI::App& app, std::string& file);
// nullopt: the option was not given.
Result<std::optional<provenance::PublicKey>> read_verify_key(const std::string& file);

// The signed digest and the key; null without a signature.
Json to_json(const std::optional<provenance::Signature>& signature);

} // namespace xaas::cli

// The base image of an application: the image whose layers lie below its own (`image.base` of the application
// spec).
//
// Source: docs/image-format.md, "Base images".
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/oci/layer.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::image {

inline constexpr const char* no_base = "scratch";

// What an application image says about its base, whose layers it also has.
struct Base {
  Digest digest;         // of its manifest
  std::string reference; // HOST/NAME[:TAG] in a registry; empty: it came from a file
  // Entrypoint, command, environment, working directory, labels and further members of its configuration.
  oci::ImageConfig config;
  // Those of its directories in which the application has files: these keep their modes and owners.
  oci::Directories directories;
  // The libraries that the application takes from the base, and the C library's other parts if it takes any:
  // by name their symbol versions.
  std::map<std::string, std::vector<std::string>> libraries;
};

Json to_json(const Base& base);
// Integrity error with a JSON pointer for anything malformed.
Result<Base> parse_base(const JsonReader& reader);

// The base of configurations that were built in several runs: directories and libraries of both. They have
// the same digest.
Base joined(const Base& a, const Base& b);

} // namespace xaas::image

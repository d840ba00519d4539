// Package URLs: https://github.com/package-url/purl-spec.
#pragma once

#include <xaas/image/packages.h>

#include <string>

namespace xaas::provenance {

// Empty for a package manager without a type of URL that is known here.
std::string package_url(const image::Package& package);
// Of an image.
std::string package_url(const std::string& name, const Digest& digest);

} // namespace xaas::provenance

// Reference libraries of an image (BLAS, LAPACK) where the machine has better ones.
#pragma once

#include <xaas/base/file.h>
#include <xaas/image/deployed.h>

#include <string>
#include <vector>

namespace xaas::run {

// Notes for users: each names a library of the image that may be the reference implementation of an
// interface (runtimes::Interface), the machine's, and the option that takes it. `of_image` and `of_host` are
// directories of libraries, the image's as paths in its tree. Only names are looked at, because this happens
// at every start. Interfaces that the image prefers from the host are left out.
std::vector<std::string> notes_of_references(const fs::path& tree, const std::vector<std::string>& of_image,
                                             const std::vector<fs::path>& of_host,
                                             const std::vector<image::PreferredOfHost>& preferred);

} // namespace xaas::run

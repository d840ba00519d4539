// Which of an image's libraries may come from the host, by file name.
#pragma once

#include <xaas/image/deployed.h>
#include <xaas/spec/application.h>

#include <set>
#include <string>
#include <vector>

namespace xaas::run {

// True if a library file belongs to `what`. "fftw3" is libfftw3.so.3 and its variants for threads; "blas" is
// any library with that interface; an unknown NAME is libNAME.so and libNAME.so.*; "mpi" is any MPI library.
bool belongs_to(const std::string& what, const std::string& file);

// For each preference, in order, the matching libraries among `files` (names without directories). No
// sonames: nothing matches.
std::vector<image::PreferredOfHost> preferred_among(const std::vector<spec::HostPreference>& preferences,
                                                    const std::set<std::string>& files);

} // namespace xaas::run

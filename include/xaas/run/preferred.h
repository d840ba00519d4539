// What of an image may come from the host, by the names of its files.
#pragma once

#include <xaas/image/deployed.h>
#include <xaas/spec/application.h>

#include <set>
#include <string>
#include <vector>

namespace xaas::run {

// True if the file of a library belongs to `what`: "fftw3" is libfftw3.so.3 and what it has for threads, an
// unknown name NAME is libNAME.so and libNAME.so.*. "mpi": a library of any MPI.
bool belongs_to(const std::string& what, const std::string& file);

// For each preference, in their order, the libraries among `files` (names without directories) that it means.
// Without sonames: there are none.
std::vector<image::PreferredOfHost> preferred_among(const std::vector<spec::HostPreference>& preferences,
                                                    const std::set<std::string>& files);

} // namespace xaas::run

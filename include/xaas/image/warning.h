// Warnings about an image, for people and scripts.
#pragma once

#include <xaas/image/bundle.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::image {

struct Warning {
  std::string kind; // as docs/command-line.md explains: "native", "probe", "optimization", ...
  std::string
      file; // relative to the sources, or the path of an installed file (begins with `/`); empty: unknown
  uint64_t line = 0; // from 1; 0: unknown, or not a text file
  std::string message;
  auto operator<=>(const Warning&) const = default;
};

// The names, or the first few and the number of the others.
std::string few(std::vector<std::string> names, size_t shown);

// "3 sources (a.c, b.c, c.c)", with at most the first few names.
std::string sources_text(const std::set<std::string>& sources);

// The sources of a configuration's units that were compiled without an -O option. None of a debug build,
// which its arguments reveal: a word `debug` that is not switched off (-DCMAKE_BUILD_TYPE=Debug,
// --buildtype=debug, --enable-debug).
std::set<std::string> unoptimized_sources(const Bundle& bundle, const BundleConfiguration& configuration,
                                          const Usage& usage);
// The warning about them; none if there are none.
std::optional<Warning> unoptimized_warning(const std::set<std::string>& sources);

// The installed programs: linked ones by their kind, others (scripts, or everything that was built from
// source) if they are executable files of a `bin` or `sbin` directory. A program on the image's PATH has its
// name only.
std::vector<std::string> programs_of(const Bundle& bundle, const BundleConfiguration& configuration);

// The value of the deployed image's PATH.
std::string path_of(const Bundle& bundle);

// The warning about an image without an entry point, from which people must choose one of these programs.
std::optional<Warning> entrypoint_warning(const spec::Image& image, const std::vector<std::string>& programs);

} // namespace xaas::image

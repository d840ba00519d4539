// What a configuration's units are lowered to. With LTO some become bitcode for the links to optimize, some
// objects, some both.
#pragma once

#include <xaas/image/bundle.h>

#include <map>
#include <set>
#include <string>

namespace xaas::deploy {

struct Forms {
  std::set<Digest> objects, bitcode;       // units
  std::set<Digest> archives, lto_archives; // archive records: regular ones, and for links with LTO
  unsigned lto_level = 0;                  // of links; 0: no LTO
  std::map<std::string, uint64_t> without; // why units that a link with LTO reads are not bitcode
};

// Without LTO, everything is an object. With it, units that are installed as an object or in an archive, or
// that a relocatable link reads, are objects. Units that other links read are bitcode if their options allow
// it.
Forms forms_of(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
               const image::Usage& usage, bool lto);

// Adds an archive or a unit, and the members of an archive.
void reach(const image::Bundle& bundle, const link::FileRef& file, std::set<Digest>& units,
           std::set<Digest>& archives);

} // namespace xaas::deploy

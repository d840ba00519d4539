// What a configuration's units are lowered to: with LTO some become bitcode that links optimise further, some
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
  std::map<std::string, uint64_t> without; // why units that a link with LTO reads are objects there
};

// Without LTO everything is an object. With it, what is installed as an object or archive, and what a
// relocatable link reads, is an object, and what the other links read is bitcode where its options allow
// that.
Forms forms_of(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
               const image::Usage& usage, bool lto);

} // namespace xaas::deploy

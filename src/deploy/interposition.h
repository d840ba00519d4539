// Names of shared libraries that other files of the image define as well.
#pragma once

#include <xaas/image/bundle.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::deploy {

// True if one of these links makes a shared library, and another one something that may replace its
// functions.
bool may_interpose(const image::Bundle& bundle, const std::vector<Digest>& links);

// What is known of the symbols of the files that links read.
struct FileNames {
  // Of units and of files of the link kit. One that is missing may define any name.
  std::map<Digest, std::set<std::string>> defined;
  // Of files of the link kit that a link with `exports_wanted` reads. One that is missing may want any name.
  std::map<Digest, std::set<std::string>> wanted;
};

// What a link may read.
struct LinkInputs {
  std::set<Digest> units;
  std::set<Digest> relocated;        // units of relocatable objects among its inputs; LTO sees objects there
  std::map<Digest, std::string> kit; // files by digest, with their names, also of relocatable objects
  std::set<std::string> assigned;    // names that options define
  bool exports_wanted = false;       // a program that exports only names that files of `kit` define or want
};
LinkInputs inputs_of_link(const image::Bundle& bundle, const Digest& link);

// By unit of a shared library, its names that another link of these defines, too, and exports.
std::map<Digest, std::set<std::string>> interposed_names(const image::Bundle& bundle,
                                                         const std::map<Digest, LinkInputs>& links,
                                                         const FileNames& names);

} // namespace xaas::deploy

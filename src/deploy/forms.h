// What a configuration's units are lowered to. Links with LTO read bitcode, others objects; a unit that both
// read becomes both.
#pragma once

#include <xaas/image/bundle.h>
#include <xaas/lower/lower.h>

#include <map>
#include <set>
#include <string>

namespace xaas::deploy {

// How a link reads its units.
enum class LinkForm {
  plain,  // as objects
  thin,   // as bitcode for ThinLTO
  merged, // as bitcode that is merged into one module, on which pass plugins run
};

// Links that read the same forms of all units. Each `merged` one is alone, because it has its own objects.
struct Reader {
  LinkForm form = LinkForm::plain;
  Digest link = {}; // of a `merged` one

  auto operator<=>(const Reader&) const = default;
};

struct Forms {
  struct Read {
    std::set<Digest> units, archives; // archive records
    std::set<Digest> objects;         // units that become objects nevertheless
  };
  std::map<Reader, Read> read; // `plain`: also what is installed; the others are there only with such links
  bool lto = false;            // links without plugins are `thin`
  unsigned lto_level = 1;      // of links that are `thin`
  std::map<std::string, uint64_t> without; // units that links with LTO read as objects, by reason

  Reader reader(const Digest& link, const link::LinkRecord& record) const;
  lower::Form of(const Digest& unit, const Reader& reader) const;
  bool has_lto() const { return read.size() > read.count({}); }
  uint64_t bitcode() const; // units that become bitcode
};

// With `lto`, units that are installed as an object or in an archive, or that a relocatable link reads, are
// objects, and those that other links read are bitcode. Without it, only those of links with plugins are.
Forms forms_of(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
               const image::Usage& usage, bool lto);

// Adds an archive or a unit, and the members of an archive.
void reach(const image::Bundle& bundle, const link::FileRef& file, std::set<Digest>& units,
           std::set<Digest>& archives);

} // namespace xaas::deploy

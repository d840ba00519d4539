// Link and archive records: the parts of a link or an archive, independent of machine and paths.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/link/note.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::link {

// A file that a link or an archive reads, by its origin.
struct FileRef {
  enum class Kind {
    unit,    // an object lowered from a unit; digest: the unit's id
    archive, // digest: of an ArchiveRecord
    link,    // the output of another link (a shared library, a relocatable object); digest: of a LinkRecord
    kit, // a file carried as it is: start files, libraries, native objects, scripts; digest: its content's
  };
  Kind kind = Kind::kit;
  Digest digest;
  std::string name; // file name without directories; becomes DT_NEEDED for a library without a soname
  auto operator<=>(const FileRef&) const = default;
};

// One archive with its members in order. A thin archive is recorded, and replayed, as a regular one.
struct ArchiveRecord {
  struct Member {
    std::string name;
    FileRef file; // unit, link (relocatable) or kit
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> members;
  Digest digest() const; // of to_json(*this).dump()
  bool operator==(const ArchiveRecord&) const = default;
};

enum class OutputKind { executable, shared, relocatable };

constexpr unsigned default_lto_level = 2; // lld's

// One item of a link's command line, in order: an option, an option with a file, or an input file.
struct LinkItem {
  enum class Kind { option, file_option, input } kind = Kind::input;
  std::string option; // canonical spelling ("--as-needed"; "-z" options as "-z")
  std::string value;  // of an option with a value
  FileRef file;       // of file_option and input
  bool operator==(const LinkItem&) const = default;
};

// The effect of an option on the symbols of the output, besides that of the inputs.
enum class SymbolEffect {
  none,
  assigns, // the value is `NAME=EXPRESSION`
  defines, // the file that it names defines some
  exports, // it selects those that an executable exports
};
SymbolEffect symbol_effect(const LinkItem& item); // inputs have none

struct LinkRecord {
  OutputKind kind = OutputKind::executable;
  std::string name; // file name of the output, without directories
  std::vector<LinkItem> items;
  // That run on the link's IR, which is merged into one module (--load-pass-plugin). Not of a relocatable
  // output.
  std::vector<ir::AskedPlugin> plugins = {};
  // With plugins: units, also members of archives, that are linked as objects, because they were compiled
  // without -flto; and the level at which the link optimizes the others (--lto-O, by default lld's).
  std::set<Digest> objects = {};
  unsigned lto_level = default_lto_level;
  Digest digest() const;
  bool operator==(const LinkRecord&) const = default;
};

// Whether a file with this name is CUDA's run-time library ("libcudart_static.a", "libcudart.so.12").
bool is_cuda_runtime(const std::string& name);

Json to_json(const ArchiveRecord& record);
Json to_json(const LinkRecord& record);
// Parsers of untrusted records. An option that is not in the allow list, a value of the wrong form, a file
// name with a slash or NUL, an unknown key: integrity error with JSON pointer.
Result<ArchiveRecord> parse_archive_record(const JsonReader& reader);
Result<LinkRecord> parse_link_record(const JsonReader& reader);

} // namespace xaas::link

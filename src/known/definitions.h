// Files of macro definitions, such as a project's config.h.
#pragma once

#include <xaas/base/digest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::known {

// A file in which each line is a directive, a comment, or blank.
class DefinitionFile {
public:
  // A line that may be left out.
  struct Place {
    unsigned line = 0;       // from 1
    bool is_defined = false; // `#define NAME text`; else `/* #undef NAME */`
  };

  // Nothing: the text has something else, or a form that this program does not read.
  static std::optional<DefinitionFile> read(std::string_view text);

  // By the name that the line is about.
  const std::map<std::string, Place>& places() const { return places_; }
  // All names that are defined or undefined in some form, or that a line says are not defined.
  const std::set<std::string>& names() const { return names_; }
  const std::string& text() const { return text_; }

  // The digest of the text with the names in the place of the lines that may be left out and are about these.
  Digest without(const std::set<std::string>& names) const;

private:
  std::string text_;
  std::vector<std::string> lines_;
  std::map<std::string, Place> places_;
  std::set<std::string> names_;
};

} // namespace xaas::known

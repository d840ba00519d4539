// The license of a tree: what its build files state, else the text of its license file.
//
// A wrong license in an image's labels is worse than none, so whatever is unclear stays open, with the
// reason: a file with more text than the license has, two licenses, and a text of the GNU licenses, which
// leaves later versions to the notices in the sources (SPDX License List, GPL-2.0-only and GPL-2.0-or-later).
#include "readers/readers.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

namespace xaas::discover {

std::string_view license_knowledge(); // specs/licenses.json

namespace {

struct KnownLicense {
  std::string id, with;
  std::vector<std::string> has, lacks;
  size_t words = 0;
  bool versions = false;
};

const std::vector<KnownLicense>& known_licenses() {
  static const std::vector<KnownLicense> all = [] {
    const Json json = Json::parse(license_knowledge(), nullptr, true, true);
    std::vector<KnownLicense> licenses;
    for (const Json& item : json["licenses"]) {
      KnownLicense license;
      license.id = item["id"];
      license.with = item.value("with", "");
      license.has = item["has"].get<std::vector<std::string>>();
      license.lacks = item.value("lacks", std::vector<std::string>());
      license.words = item["words"];
      license.versions = item.value("versions", false);
      licenses.push_back(std::move(license));
    }
    return licenses;
  }();
  return all;
}

// The words of a text: letters and digits, in lower case, with one blank between them and around all.
std::string plain_words(std::string_view text) {
  std::string words = " ";
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    else if (words.back() != ' ')
      words.push_back(' ');
  if (words.back() != ' ')
    words.push_back(' ');
  return words;
}

bool has(const std::string& words, const std::string& phrase) {
  return words.find(" " + phrase + " ") != std::string::npos;
}

// The expression after "SPDX-License-Identifier:"; empty: there is none.
std::string tag_in(const std::string& text) {
  constexpr std::string_view tag = "SPDX-License-Identifier:";
  const size_t at = text.find(tag);
  if (at == std::string::npos)
    return {};
  std::string expression = text.substr(at + tag.size(), text.find_first_of("\r\n", at) - at - tag.size());
  for (const char* end : {"*/", "-->"})
    expression = expression.substr(0, expression.find(end));
  return trim(expression);
}

// Whether a text has the form of an expression: identifiers joined by AND, OR and WITH (SPDX 2.3, annex D).
bool is_expression(const std::string& text) {
  bool wants_name = true;
  std::string plain;
  for (const char c : text)
    if (c != '(' && c != ')')
      plain.push_back(c);
  for (const std::string& word : split(plain, ' ')) {
    if (word.empty())
      continue;
    const bool joins = word == "AND" || word == "OR" || word == "WITH";
    const bool is_name = std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '.' || c == '-' || c == '+';
    });
    if (joins == wants_name || !is_name)
      return false;
    wants_name = joins;
  }
  return !wants_name;
}

// "LICENSE", "COPYING.LESSER", "LICENCE.md", "LICENSE-MIT".
bool is_license_file(const std::string& path) {
  const std::string name = to_lower(path);
  if (name.find('/') != std::string::npos)
    return false;
  for (const char* begin : {"license", "licence", "copying", "unlicense"})
    if (name.starts_with(begin)) {
      const std::string rest = name.substr(std::string_view(begin).size());
      return rest.empty() || rest[0] == '.' || rest[0] == '-' || rest[0] == '_';
    }
  return false;
}

struct FoundLicense {
  const KnownLicense* known = nullptr;
  std::string expression; // of a tag
  std::string why_not;
  std::string file;
};

FoundLicense read_text(const std::string& file, const std::string& text) {
  FoundLicense found;
  found.file = file;
  if (const std::string tag = tag_in(text); is_expression(tag)) {
    found.expression = tag;
    return found;
  }
  const std::string words = plain_words(text);
  const auto count = static_cast<size_t>(std::count(words.begin(), words.end(), ' ')) - 1;
  for (const KnownLicense& license : known_licenses()) {
    const auto is_in = [&](const std::string& phrase) { return has(words, phrase); };
    if (!std::all_of(license.has.begin(), license.has.end(), is_in) ||
        std::any_of(license.lacks.begin(), license.lacks.end(), is_in))
      continue;
    if (count > license.words) {
      found.why_not = file + " has the text of " + license.id + ", and more";
      return found;
    }
    found.known = &license;
    return found;
  }
  found.why_not = file + " is not the text of a license that is known here";
  return found;
}

// "version 2 only", "License version 2 as published", "version 2 of the License".
bool names_one_version(const std::string& words) {
  for (const char* version : {"2", "2 1", "3"})
    if (has(words, std::string("version ") + version + " only") ||
        has(words, std::string("license version ") + version + " as published") ||
        has(words, std::string("version ") + version + " of the license"))
      return true;
  return false;
}

// What the notices in the sources say about later versions: "-or-later", "-only", or nothing.
std::string versions_in_sources(const TreeFiles& tree) {
  static const std::set<std::string> endings = {"c",   "cc",  "cpp", "cxx", "h",  "hh",
                                                "hpp", "f90", "f",   "F90", "cu", "py"};
  constexpr size_t most = 100, top = 4096;
  size_t read = 0;
  std::set<std::string> answers;
  for (const std::string& path : tree.paths()) {
    if (read >= most)
      break;
    if (!endings.contains(path.substr(path.rfind('.') + 1)))
      continue;
    const std::optional<std::string> text = tree.text(path);
    if (!text)
      continue;
    ++read;
    const std::string begin = text->substr(0, top);
    const std::string tag = tag_in(begin), words = plain_words(begin);
    const bool is_gnu = has(words, "general public license") || tag.find("GPL-") != std::string::npos;
    if (!is_gnu)
      continue;
    if (tag.ends_with("-or-later") || tag.ends_with("+") || has(words, "any later version"))
      answers.insert("-or-later");
    else if (tag.ends_with("-only") || names_one_version(words))
      answers.insert("-only");
  }
  return answers.size() == 1 ? *answers.begin() : std::string();
}

// A word of an expression whose meaning is known here.
bool is_known_word(const std::string& word) {
  if (word == "AND" || word == "OR")
    return true;
  return std::any_of(known_licenses().begin(), known_licenses().end(), [&](const KnownLicense& known) {
    return known.versions ? word == known.id + "-only" || word == known.id + "-or-later" : word == known.id;
  });
}

class LicenseReader {
public:
  explicit LicenseReader(const TreeFiles& tree) : tree_(tree) {}

  std::optional<License> read() {
    std::vector<FoundLicense> found;
    for (const std::string& path : tree_.paths())
      if (is_license_file(path))
        if (const std::optional<std::string> text = tree_.text(path))
          found.push_back(read_text(path, *text));
    if (found.empty())
      return std::nullopt;
    drop_included(found);
    License license;
    license.place = {found.front().file, 1};
    for (const FoundLicense& each : found)
      if (!each.why_not.empty()) {
        license.reason = each.why_not;
        return license;
      }
    std::set<std::string> ids;
    for (const FoundLicense& each : found)
      ids.insert(each.known ? each.known->id : each.expression);
    if (ids.size() > 1) {
      license.reason = "the tree has the texts of " + join({ids.begin(), ids.end()}, " and ");
      return license;
    }
    conclude(found.front(), license);
    return license;
  }

private:
  // A license that refers to another comes with the text of that.
  static void drop_included(std::vector<FoundLicense>& found) {
    std::set<std::string> included;
    for (const FoundLicense& each : found)
      if (each.known && !each.known->with.empty())
        included.insert(each.known->with);
    std::erase_if(found,
                  [&](const FoundLicense& each) { return each.known && included.contains(each.known->id); });
  }

  void conclude(const FoundLicense& found, License& license) const {
    if (!found.known) {
      license.expression = found.expression;
      license.reason = found.file + " says so";
      return;
    }
    const std::string& id = found.known->id;
    if (!found.known->versions) {
      license.expression = id;
      license.reason = found.file + " is its text";
      return;
    }
    const std::string versions = versions_in_sources(tree_);
    if (versions.empty()) {
      license.reason = found.file + " is the text of " + id +
                       ", and the sources do not agree on whether later " + "versions may be chosen: " + id +
                       "-only or " + id + "-or-later";
      return;
    }
    license.expression = id + versions;
    license.reason = found.file + " is its text, and notices in the sources name the versions";
  }

  const TreeFiles& tree_;
};

} // namespace

void read_license(const TreeFiles& tree, Findings& findings) {
  if (const std::string& stated = findings.stated_license; is_expression(stated)) {
    const std::vector<std::string> names = split(stated, ' ');
    if (std::all_of(names.begin(), names.end(), is_known_word)) {
      findings.license = License{stated, "the build files state it", {}};
      return;
    }
  }
  findings.license = LicenseReader(tree).read();
}

} // namespace xaas::discover

#include "readers/make/use.h"

#include "knowledge.h"
#include "readers/make/text.h"
#include "readers/readers.h"

#include <xaas/base/text.h>
#include <xaas/discover/discover.h>

#include <algorithm>

namespace xaas::discover {

bool MakeBranches::read(const std::string& line, const std::optional<bool>& holds) {
  const bool more = line == "else" || line.starts_with("else ");
  if (line == "endif" || line.starts_with("endif ")) {
    if (!open_.empty())
      open_.pop_back();
  } else if (more && !open_.empty()) {
    Branch& branch = open_.back();
    branch.before |= branch.taken;
    branch.taken = !branch.before && (line == "else" ? true : holds.value_or(false));
  } else if (line.starts_with("ifeq") || line.starts_with("ifneq") || line.starts_with("ifdef") ||
             line.starts_with("ifndef")) {
    open_.push_back({holds.value_or(false), false});
  } else {
    return more;
  }
  return true;
}

bool MakeBranches::is_default() const {
  return std::all_of(open_.begin(), open_.end(), [](const Branch& branch) { return branch.taken; });
}

bool is_mpi_compiler(const std::string& word) {
  static const std::set<std::string> names = {"mpicc",   "mpicxx",   "mpic++",  "mpiCC",
                                              "mpif90",  "mpif77",   "mpifort", "mpiicc",
                                              "mpiicpc", "mpiifort", "mpixlc",  "mpixlf90"};
  return names.contains(word.substr(word.rfind('/') + 1));
}

bool is_make_template(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.find('.');
  return path.find('/') != std::string::npos && dot != std::string::npos && dot + 1 < name.size() &&
         !name.ends_with(".mk") && to_lower(name.substr(0, 4)) == "make";
}

namespace {

// The library that is known, by its name in a link: "mkl_intel_lp64" is one of MKL's.
std::string known_library(const std::string& name) {
  std::vector<std::string> words = Knowledge::words_of(name);
  for (; !words.empty(); words.pop_back())
    if (Knowledge::get().entry(words))
      return join(words, " ");
  return "";
}

} // namespace

void MakeUses::add(const std::string& name, const Place& place, bool is_default) {
  constexpr size_t most = 5000;
  if (name.empty() || is_for_developers(place.file))
    return;
  if (is_make_template(place.file)) {
    templates_.insert(place.file);
    if (is_default)
      users_[name].insert(place.file);
    is_default = false;
  }
  for (Package& package : findings_.packages)
    if (package.name == name) {
      package.alternative &= !is_default;
      package.required |= is_default;
      return;
    }
  if (findings_.packages.size() >= most)
    return;
  Package package;
  package.name = name;
  package.place = place;
  package.alternative = !is_default;
  package.required = is_default;
  package.linked = true;
  findings_.packages.push_back(std::move(package));
}

void MakeUses::finish() {
  for (Package& package : findings_.packages)
    if (const auto users = users_.find(package.name);
        users != users_.end() && users->second.size() * 2 > templates_.size())
      package.alternative = false;
}

void MakeUses::add_line(const std::string& line, const Place& place, bool is_default) {
  constexpr size_t longest = 2000;
  std::string text = line.substr(0, longest);
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '"' || c == '\'' || c == '='; }, ' ');
  const bool links_mkl = text.find("-lmkl") != std::string::npos; // which needs threads itself
  for (const std::string& word : make_text::words_of(text)) {
    const size_t slash = word.rfind('/');
    const std::string file = word.substr(slash == std::string::npos ? 0 : slash + 1);
    if (links_mkl && word == "-lpthread")
      continue;
    if (word.starts_with("-l") && word.size() > 2)
      add(known_library(word.substr(2)), place, is_default);
    else if (file.starts_with("lib") && (file.ends_with(".a") || file.ends_with(".so")))
      add(known_library(file.substr(3, file.rfind('.') - 3)), place, is_default);
    else if (word == "-fopenmp" || word == "-qopenmp" || word == "-openmp" || word == "-mp" ||
             word == "-qsmp" || word.starts_with("-fopenmp "))
      add("openmp", place, is_default);
    else if (word == "-pthread")
      add("pthread", place, is_default);
    else if (is_mpi_compiler(word))
      add("mpi", place, is_default);
    else if (word.starts_with("-m") && is_default && !is_make_template(place.file) &&
             !is_for_developers(place.file))
      findings_.machine_flags.emplace(word, place);
  }
}

} // namespace xaas::discover

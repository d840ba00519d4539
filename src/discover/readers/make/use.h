// The libraries and compiler flags in makefiles: in assignments, recipes, and comments that offer
// alternatives.
#pragma once

#include <xaas/discover/findings.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::discover {

// Whether a build without options reaches a line, as far as conditionals tell.
class MakeBranches {
public:
  // A line that begins, continues or ends a conditional; false: another line. `holds`: what its condition
  // gives without options, if that is known.
  bool read(const std::string& line, const std::optional<bool>& holds);
  bool is_default() const;

private:
  struct Branch {
    bool taken = false;  // this part
    bool before = false; // an earlier part
  };
  std::vector<Branch> open_;
};

// "Make.inc/Makefile.INTEL", "arch/Make.Linux": a user takes one of them.
bool is_make_template(const std::string& path);

// What makefiles use: libraries (-lfftw3), threads, OpenMP, compilers of MPI.
class MakeUses {
public:
  explicit MakeUses(Findings& findings) : findings_(findings) {}

  // `is_default`: every build without options has this line, unless its file is one of several to choose
  // from.
  void add_line(const std::string& line, const Place& place, bool is_default);
  // After all lines: what most of the files to choose from use is used by default.
  void finish();

private:
  void add(const std::string& name, const Place& place, bool is_default);

  Findings& findings_;
  std::set<std::string> templates_;                    // files to choose from
  std::map<std::string, std::set<std::string>> users_; // among them, by the library
};

} // namespace xaas::discover

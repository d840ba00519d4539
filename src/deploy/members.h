// Which members of archives are lowered.
//
// Problem: projects link a few members of their own static libraries, and some libraries are linked by no
// installed program. Of HMMER's 172 modules, no link takes 37.
//
// Example: `prog` is linked from main.o and libutil.a(sort.o, tree.o), and libutil.a is not installed. main.o
// wants sort_lines, which sort.o defines. sort.o wants memcpy. So tree.o is not lowered, and the archive that
// the link reads does not have it.
//
// Approach: lld takes a member that defines a symbol which something in the link wants. Units that are
// certainly read are lowered, and for all others the symbols of their IR modules are read. Then members that
// define wanted names are lowered, which want others, until nothing new is wanted. A lowered object says what
// it wants itself, because optimizer and back end add calls (memcpy, sincos). Names are collected over all
// links of the configuration and in no order, so that a member may be lowered without need; one that a link
// takes is always lowered. The pass plugins of a link may want what none of its units wants, so all of its
// members are lowered. The result depends on the image and the target alone, not on what a cache has.
//
// Rejected: recording in the build what each link took, because what the optimizer adds depends on the
// target, and images would lower all members that were written before; asking lld (--why-extract) for each
// link, which reads all inputs again.
#pragma once

#include "objects.h"

#include <xaas/ir/symbols.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::deploy {

class Members {
public:
  explicit Members(const AssemblyInputs& inputs);

  // Units that are lowered only if a link takes them.
  const std::set<Digest>& optional() const { return optional_; }
  // Names of kit files by digest, if there are optional units. want() must get the symbols that they want.
  const std::map<Digest, std::string>& kit() const { return kit_; }

  void want(const std::set<std::string>& names);
  // The symbols of an optional unit's module; nothing: it is lowered in any case.
  void add(const Digest& unit, const std::optional<ir::Symbols>& symbols);
  // The optional units that were found to be needed since the last call.
  std::set<Digest> take();

private:
  std::set<Digest> optional_, needed_, new_;
  std::map<Digest, std::string> kit_;
  std::set<std::string> wanted_;
  // Of optional units that are not needed yet.
  std::map<std::string, std::vector<Digest>> definers_; // by the names that they define
  std::map<Digest, std::set<std::string>> wanted_by_;
};

} // namespace xaas::deploy

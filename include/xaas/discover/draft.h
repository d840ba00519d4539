// The draft of an application spec, with comments for its author.
#pragma once

#include <xaas/discover/discover.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::discover {

// A comment above an element of the spec. `place` is like a JSON pointer, except that points and values are
// addressed by name, so that it stays right when others are added or removed: "" is the top of the file,
// "/build/arguments", "/specializations/openmp", "/specializations/openmp/values/on", "/configurations/0".
// Each line of `text` becomes a line of comment, or several. A remark whose element does not exist, or has
// its default and is therefore not written, is not written either.
struct Remark {
  std::string place;
  std::string text;
  bool operator==(const Remark&) const = default;
};

// Something of the build that the draft does not use. It becomes a comment above the point `name` if there is
// such a point, else above the list of points.
struct LeftOut {
  std::string name;  // of a point, else of an option
  std::string value; // empty: the whole point or option
  std::string reason;
  std::optional<Place> place; // where the build declares it
  bool operator==(const LeftOut&) const = default;
};

struct Draft {
  spec::Application application;
  std::vector<Remark> remarks;
  std::vector<LeftOut> left_out;
};

// A draft for building on `arch`. It builds the defaults of the project at every ISA level:
//
// - A switch for one instruction set extension, and a choice of instruction sets, follows the point `isa`: it
//   has the strongest value that each level can run. One choice with a value for every level takes the place
//   of `isa`, and each of its values is built.
// - Values that need a CPU of another architecture are left out.
// - Other points have their defaults. All combinations would be too many, and it is unknown which values
//   exclude each other.
Draft draft(const Findings& findings, const Discovery& discovery, const std::string& arch);

// Removes a value, or with an empty `value` the whole point, and the configurations that name it, and records
// it in `left_out`. A point whose default is removed has none; one without values is removed.
void leave_out(Draft& draft, LeftOut what);

// The draft as the text of a spec with comments. Keys that have their defaults are not written, and each
// value is one line.
std::string to_text(const Draft& draft);

} // namespace xaas::discover

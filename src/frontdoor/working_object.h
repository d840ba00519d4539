// Units and their working objects: what any front end's module becomes.
#pragma once

#include "c/compile.h"
#include <xaas/known/known.h>

#include <xaas/ir/unit.h>

#include <functional>

namespace xaas::frontdoor {

// The level that working objects are made for: they must run on the build machine, which may lack the
// configuration's level.
std::string working_level(const session::Session& session);

// One unit on its way from a front end to the store and to the build.
class UnitWriter {
public:
  // The bitcode of the same source for a lower ISA level; empty if it compiles for nothing less.
  using Lesser = std::function<std::string(const std::string& level)>;

  // `draft` has its source and its machine flags; `output` is the object that the build asked for.
  UnitWriter(const session::Session& session, ir::UnitOptions options, ir::Unit draft, fs::path output);

  const ir::Unit& draft() const { return unit_; }
  const fs::path& output() const { return output_; }
  // The units for devices; none: the source has no code for them.
  void set_device_code(std::map<std::string, Digest> units, const std::string& offload) {
    unit_.offload = units.empty() ? std::string() : offload;
    unit_.device = std::move(units);
  }

  // Makes the working object of what a front end has just made. A text says why the back end refuses it.
  Result<std::optional<std::string>> make_object(known::KnownUnit& unit, const Lesser& lesser) const;

  // Stores the unit and writes its object, known or just made; `text` are its tokens, where they were looked
  // at. `carried` where the file cannot be written: the compiler then says so in its own words.
  Result<CompileResult> write(const known::KnownUnit& unit, bool reused, const std::optional<Digest>& text);

private:
  const session::Session& session_;
  ir::UnitOptions options_;
  ir::Unit unit_;
  fs::path output_;
};

// The object of a stored unit for the build machine: as fast as it can be made, or at the project's own -O.
Result<std::string> working_object(const session::Session& session, const Digest& unit, bool optimised);

} // namespace xaas::frontdoor

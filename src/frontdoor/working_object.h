// Turns the module of any front end into a unit and its working object.
#pragma once

#include "c/compile.h"

#include <xaas/ir/unit.h>
#include <xaas/known/known.h>
#include <xaas/lower/lower.h>
#include <xaas/lower/plugins.h>

#include <functional>

namespace xaas::frontdoor {

// The level of working objects, which must run on the build machine even if that lacks the configuration's
// level.
std::string working_level(const session::Session& session);

// Writes one unit of a front end to the store, and its working object to the build.
class UnitWriter {
public:
  // Returns the bitcode of the same source for a lower ISA level; empty if it does not compile for that.
  using Lesser = std::function<std::string(const std::string& level)>;

  // `draft` has source and machine flags; `output` is the object that the build asked for.
  // `plugins` are those that `draft` asks for.
  UnitWriter(const session::Session& session, ir::UnitOptions options, ir::Unit draft, fs::path output,
             std::vector<lower::PluginUse> plugins = {});

  const ir::Unit& draft() const { return unit_; }
  const fs::path& output() const { return output_; }
  // Sets the units for devices; none if the source has no device code.
  void set_device_code(std::map<std::string, Digest> units, const std::string& offload) {
    unit_.offload = units.empty() ? std::string() : offload;
    unit_.device = std::move(units);
  }

  void set_lto(const std::string& lto) { lto_ = lto; } // WrittenMachine::lto

  // Makes the working object of a front end's result. Returns the reason if the back end refuses it.
  Result<std::optional<std::string>> make_object(known::KnownUnit& unit, const Lesser& lesser) const;

  // Stores the unit and writes its object, whether reused or new; `text` is the digest of its tokens, if they
  // were read. Returns `carried` if the file cannot be written; the compiler then reports that in its own
  // words.
  Result<CompileResult> write(const known::KnownUnit& unit, bool reused, const std::optional<Digest>& text);

private:
  const session::Session& session_;
  ir::UnitOptions options_;
  ir::Unit unit_;
  fs::path output_;
  std::vector<lower::PluginUse> plugins_;
  std::string lto_;
};

// Whether the unit was compiled for LTO so far, as in WrittenMachine: several, if it was compiled in several
// ways.
std::set<std::string> lto_of(const session::Session& session, const Digest& unit);

Result<ir::Unit> stored_unit(const session::Session& session, const Digest& unit);

// A stored unit for the build machine, at the project's own -O: as an object, or for Form::lto as bitcode.
Result<std::string> working_object(const session::Session& session, const Digest& unit, lower::Form form);

} // namespace xaas::frontdoor

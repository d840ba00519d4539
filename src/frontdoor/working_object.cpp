#include "working_object.h"
#include "plugins.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/harvest/identify.h>
#include <xaas/ir/device_image.h>
#include <xaas/link/note.h>
#include <xaas/lower/lower.h>
#include <xaas/session/log.h>

#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

// The file with the IR of a unit for the build machine's own level.
fs::path lesser_path(const session::Session& session, const Digest& unit) {
  return session.directory / "lesser" / unit.hex();
}

// An empty file for each WrittenMachine::lto with which the unit was compiled; "none" without.
fs::path lto_path(const session::Session& session, const Digest& unit, const std::string& lto) {
  return session.directory / "lto" / (unit.hex() + (lto.empty() ? ".none" : "." + lto));
}

// Lowers without optimization, or at the project's own level if that fails (operands of inline assembly that
// must become constants).
Result<std::string> lower_working(lower::Job& job) {
  Result<lower::Object> object = lower::lower(job);
  if (!object && object.error().kind == ErrorKind::failed && job.form == lower::Form::working) {
    job.form = lower::Form::object;
    object = lower::lower(job);
  }
  return object ? Result<std::string>(std::move(object->bytes)) : object.error();
}

// The features, a line for each, of a unit whose working object is the same for every configuration.
fs::path features_path(const session::Session& session, const Digest& unit) {
  return session.directory / "working-features" / unit.hex();
}

// The object is for the architecture's lowest level and these features.
Result<void> make_common(lower::Job& job, const std::string& arch, const std::vector<std::string>& features) {
  job.unit.machine = {{}, {}, known::features_of_meaning(job.unit.machine.features)};
  for (const std::string& feature : features)
    job.unit.machine.features.push_back("+" + feature);
  XAAS_TRY(job.target, target::cpu_by_name(arch, target::isa_levels(arch).front()));
  return {};
}

std::string placeholder_of(const ir::Unit& unit) {
  return ir::device_image_placeholder(ir::device_runtime(unit.device.begin()->first));
}

Result<void> checked(const Result<Digest>& stored) {
  if (!stored)
    return stored.error();
  return {};
}

} // namespace

std::string working_level(const session::Session& session) {
  const std::vector<std::string> levels = target::isa_levels(session.arch);
  const std::string wanted = session.level.empty() && !levels.empty() ? levels.front() : session.level;
  const std::string own = target::isa_level(session.arch, target::host_cpu().features);
  const auto weaker = std::find_if(levels.begin(), levels.end(),
                                   [&](const std::string& level) { return level == wanted || level == own; });
  return weaker == levels.end() ? wanted : *weaker;
}

UnitWriter::UnitWriter(const session::Session& session, ir::UnitOptions options, ir::Unit draft,
                       fs::path output, std::vector<lower::PluginUse> plugins)
    : session_(session), options_(std::move(options)), unit_(std::move(draft)), output_(std::move(output)),
      plugins_(std::move(plugins)) {
  unit_.options = options_.digest();
}

Result<std::optional<std::string>> UnitWriter::make_object(known::KnownUnit& unit,
                                                           const Lesser& lesser) const {
  lower::Job job;
  job.unit = unit_;
  job.unit.module = digest_of(unit.bitcode);
  job.options = options_;
  if (unit_.has_device_image())
    job.device_image = placeholder_of(unit_);
  job.plugins = plugins_;
  // Plugins add passes to the optimizer, and without them a link may lack what they make.
  job.form = unit.needs_optimization || !plugins_.empty() ? lower::Form::object : lower::Form::working;
  std::string level = working_level(session_);
  if (unit.working_features) {
    XAAS_CHECK(make_common(job, session_.arch, *unit.working_features));
  } else {
    if (!session_.level.empty() && level != session_.level)
      unit.lesser = lesser(level);
    // If the source does not compile for a lower level, its object may not run here, and need not.
    if (unit.lesser.empty() && !session_.level.empty())
      level = session_.level;
    XAAS_TRY(job.target, target::cpu_by_name(session_.arch, level));
  }
  job.bitcode = unit.lesser.empty() ? unit.bitcode : unit.lesser;
  Result<std::string> object = lower_working(job);
  if (!object && object.error().kind == ErrorKind::failed)
    return std::optional(object.error().message);
  if (!object)
    return std::move(object).error();
  unit.object = *std::move(object);
  return std::optional<std::string>();
}

Result<CompileResult> UnitWriter::write(const known::KnownUnit& unit, bool reused,
                                        const std::optional<Digest>& text) {
  const store::ContentStore content = session_.content();
  XAAS_CHECK(remember_plugins(session_, plugins_));
  XAAS_TRY(unit_.module, content.put(unit.bitcode));
  XAAS_CHECK(checked(content.put(ir::to_json(options_).dump())));
  XAAS_TRY(const Digest id, content.put(ir::to_json(unit_).dump()));
  XAAS_CHECK(write_file(lto_path(session_, id, lto_), "", 0644, false));
  if (!unit.lesser.empty())
    XAAS_CHECK(write_file(lesser_path(session_, id), unit.lesser, 0644, false));
  if (unit.working_features)
    XAAS_CHECK(
        write_file(features_path(session_, id), llvm::join(*unit.working_features, "\n"), 0644, false));
  std::string object = unit.object;
  XAAS_CHECK(link::add_note(object, link::Note::Kind::unit, id));
  XAAS_TRY(const Digest contents, link::content_digest(object));
  XAAS_CHECK(harvest::remember_output(session_, contents, link::Note::Kind::unit, id));
  XAAS_CHECK(log_compile(session_, {id, text, reused, unit_.source, unit.names_places, unit.vector_returns}));
  if (const Result<void> wrote = write_output(output_, object, 0644); !wrote)
    return CompileResult{CompileOutcome::carried, output_, wrote.error().message};
  return CompileResult{CompileOutcome::captured, output_, {}};
}

std::set<std::string> lto_of(const session::Session& session, const Digest& unit) {
  std::set<std::string> found;
  for (const std::string lto : {"", "full", "thin"})
    if (std::error_code code; fs::exists(lto_path(session, unit, lto), code))
      found.insert(lto);
  return found;
}

Result<ir::Unit> stored_unit(const session::Session& session, const Digest& unit) {
  XAAS_TRY(const std::string text, session.content().get(unit));
  XAAS_TRY(const Json json, parse_json(text, "unit"));
  return ir::parse_unit(JsonReader(json, "unit"));
}

Result<std::string> working_object(const session::Session& session, const Digest& unit_id, lower::Form form) {
  const store::ContentStore content = session.content();
  lower::Job job;
  XAAS_TRY(job.unit, stored_unit(session, unit_id));
  XAAS_TRY(const std::string options_text, content.get(job.unit.options));
  XAAS_TRY(const Json options_json, parse_json(options_text, "options"));
  XAAS_TRY(job.options, ir::parse_unit_options(JsonReader(options_json, "options")));
  const bool lesser = fs::exists(lesser_path(session, unit_id));
  if (const fs::path features = features_path(session, unit_id); fs::exists(features)) {
    XAAS_TRY(const std::string text, read_file(features));
    XAAS_CHECK(make_common(job, session.arch, split(text, '\n')));
  } else {
    const std::string level = lesser || session.level.empty() ? working_level(session) : session.level;
    XAAS_TRY(job.target, target::cpu_by_name(session.arch, level));
  }
  XAAS_TRY(job.bitcode, lesser ? read_file(lesser_path(session, unit_id)) : content.get(job.unit.module));
  XAAS_TRY(job.plugins, remembered_plugins(session, job.unit.plugins));
  job.form = form;
  if (job.unit.has_device_image())
    job.device_image = placeholder_of(job.unit);
  XAAS_TRY(lower::Object object, lower::lower(job));
  if (link::is_elf(object.bytes))
    XAAS_CHECK(link::add_note(object.bytes, link::Note::Kind::unit, unit_id));
  return std::move(object.bytes);
}

} // namespace xaas::frontdoor

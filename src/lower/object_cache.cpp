#include <xaas/base/build_id.h>
#include <xaas/lower/object_cache.h>

namespace xaas::lower {

namespace {

// A digest of contents, never of the names that a bundle gives them: an image whose bundle lies about a
// digest must not leave objects that another image then finds. The module's own digest was checked when it
// was read.
Digest key_of(const ir::Unit& unit, const ir::UnitOptions& options, const target::Cpu& target, Form form,
              const std::string& parts, const std::string& program) {
  Hasher hasher;
  const auto add = [&hasher](std::string_view text) { hasher.update_part(text); };
  add("object 8");
  hasher.update_number(static_cast<uint64_t>(form));
  add(program);
  add(unit.id().to_string());
  add(options.digest().to_string());
  add(parts);
  add(target.arch);
  add(target.name);
  hasher.update_number(target.features.size());
  for (const std::string& feature : target.features)
    add(feature);
  return hasher.finish();
}

} // namespace

std::optional<Object> ObjectCache::find(const ir::Unit& unit, const ir::UnitOptions& options,
                                        const target::Cpu& target, Form form,
                                        const std::string& parts) const {
  const std::string program = build_id();
  if (program.empty()) // the objects could be those of any build of this program
    return std::nullopt;
  const std::optional<std::string> bytes = cache_.get(key_of(unit, options, target, form, parts, program));
  if (!bytes)
    return std::nullopt;
  Result<Object> object = parse_object(*bytes);
  return object ? std::optional<Object>(*std::move(object)) : std::nullopt;
}

void ObjectCache::keep(const ir::Unit& unit, const ir::UnitOptions& options, const target::Cpu& target,
                       Form form, const Object& object, const std::string& parts) const {
  if (const std::string program = build_id(); !program.empty())
    static_cast<void>(cache_.put(key_of(unit, options, target, form, parts, program), to_bytes(object)));
}

} // namespace xaas::lower

// Objects that were lowered before.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/lower/lower.h>
#include <xaas/store/cache.h>
#include <xaas/target/cpu.h>

#include <optional>
#include <string>

namespace xaas::lower {

// An object is a function of its unit (module, options, machine flags, source name), the target, its form and
// this build of the program, and is filed under their digest and by nothing else: any image and any
// configuration that has the unit finds it. Concurrency, damage and who may write: store::Cache.
class ObjectCache {
public:
  explicit ObjectCache(store::Cache cache) : cache_(std::move(cache)) {}

  const store::Cache& cache() const { return cache_; }
  // `options` are the unit's; `device` names the device code that was put into it, by what it is made of.
  // Nothing if it is not there.
  std::optional<Object> find(const ir::Unit& unit, const ir::UnitOptions& options, const target::Cpu& target,
                             Form form, const std::string& device = {}) const;
  // An object that was lowered without error. A cache that cannot be written (no space) only costs time.
  void keep(const ir::Unit& unit, const ir::UnitOptions& options, const target::Cpu& target, Form form,
            const Object& object, const std::string& device = {}) const;

private:
  store::Cache cache_;
};

} // namespace xaas::lower

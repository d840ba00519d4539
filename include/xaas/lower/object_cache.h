// A cache of lowered objects.
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
// this build of the program, and is filed under their digest alone. So any image and any configuration with
// the unit finds it. For concurrency, damage and access, see store::Cache.
class ObjectCache {
public:
  explicit ObjectCache(store::Cache cache) : cache_(std::move(cache)) {}

  const store::Cache& cache() const { return cache_; }
  // `options` are the unit's; `parts` identifies, by contents, what else the object is made of: device code
  // inside it, the prepared module that it was lowered from. Nothing if there is no entry.
  std::optional<Object> find(const ir::Unit& unit, const ir::UnitOptions& options, const target::Cpu& target,
                             Form form, const std::string& parts = {}) const;
  // Stores an object that was lowered without error. A cache that cannot be written (no space) only costs
  // time.
  void keep(const ir::Unit& unit, const ir::UnitOptions& options, const target::Cpu& target, Form form,
            const Object& object, const std::string& parts = {}) const;

private:
  store::Cache cache_;
};

} // namespace xaas::lower

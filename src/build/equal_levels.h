// ISA levels that need not be built, because the build of another level showed that theirs would be the same.
#pragma once

#include <xaas/base/result.h>
#include <xaas/session/session.h>
#include <xaas/spec/application.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::build {

class EqualLevels {
public:
  // `configurations` are those that are built, in this order. All references must outlive this object.
  EqualLevels(const spec::Application& application, const std::string& arch,
              const std::vector<spec::SpecializationPoint>& points,
              const std::vector<spec::Configuration>& configurations)
      : application_(application), arch_(arch), points_(points), configurations_(configurations) {}

  // What the build system gets for a configuration.
  Result<std::vector<std::string>> arguments_of(const spec::Configuration& configuration) const;

  // The levels with which a build of this configuration compares its commands.
  std::vector<std::string> to_compare(const spec::Configuration& configuration) const;

  // Notes which later configurations would be like this one, which has just been built with this number.
  Result<void> note(const session::Session& session, const spec::Configuration& configuration, size_t number);

  // The number of the configuration that this one would be like; nothing: it must be built.
  std::optional<size_t> origin_of(const spec::Configuration& configuration) const;

  // The same for all levels.
  std::string id_without_level(const spec::Configuration& configuration) const;

private:
  const spec::Application& application_;
  const std::string& arch_;
  const std::vector<spec::SpecializationPoint>& points_;
  const std::vector<spec::Configuration>& configurations_;
  std::map<std::string, size_t> origins_; // by id
};

} // namespace xaas::build

// The draft of an application spec.
//
// A draft should be fast where it is deployed and build where it is written. So every ISA level is built,
// with the instruction sets that the project can use at that level, and all else is left as the project has
// it: an option that is off by default mostly needs something that the build machine may lack.
//
// A switch for one extension (ENABLE_AVX2) follows the point `isa`. Rejected: leaving it at its default,
// which is slow if the project tests its own macro, and too new for a level if the default is on; a point of
// its own, because n switches have 2^n combinations, of which those at odds with the level are wrong or
// useless.
#include "classify/classification.h"
#include "classify/typing.h"
#include "draft_words.h"

#include <xaas/base/text.h>
#include <xaas/discover/draft.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace xaas::discover {

namespace {

using Point = spec::SpecializationPoint;

std::string at(const Place& place) {
  return place.file + ":" + std::to_string(place.line);
}

bool can_have(const std::string& arch, const std::vector<std::string>& features) {
  return std::all_of(features.begin(), features.end(),
                     [&](const std::string& feature) { return target::is_feature(arch, feature); });
}

bool needs_cpu(const Point& point) {
  return std::any_of(point.values.begin(), point.values.end(),
                     [](const spec::Value& value) { return !value.requires_.cpu.empty(); });
}

// A point for one extension: on needs it, off does not.
bool is_extension(const Point& point) {
  const spec::Value* const on = point.find("on");
  return on && !on->requires_.cpu.empty();
}

// A value for levels that no other value is for: what the build does if nobody sets the option.
void put_default_first(Point& point) {
  if (point.values.empty() || !point.values.front().requires_.cpu.empty())
    point.values.insert(point.values.begin(), spec::Value{"default", {}, {}});
}

// A makefile without an install step: the spec installs the files that it links.
void install_products(const Findings& findings, spec::Application& application) {
  if (!findings.products || findings.products->has_install)
    return;
  const auto file_name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  // The build directory is a copy of the whole tree.
  const auto in_copy = [&](const std::string& path) {
    return (fs::path(findings.directory) / path).lexically_normal().string();
  };
  for (const std::string& program : findings.products->programs)
    application.build.install.push_back({in_copy(program), "bin/" + file_name(program)});
  for (const std::string& library : findings.products->libraries)
    application.build.install.push_back({in_copy(library), "lib/" + file_name(library)});
  if (findings.products->programs.size() == 1)
    application.image.entrypoint = {application.image.prefix + "/bin/" +
                                    file_name(findings.products->programs.front())};
}

// A name in the form that the schema wants.
std::string name_of(const std::string& project) {
  std::string name = to_lower(project);
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (char& c : name)
    if (!is_plain(c) && std::string_view("._+-").find(c) == std::string_view::npos)
      c = '-';
  name.erase(name.begin(), std::find_if(name.begin(), name.end(), is_plain));
  return name.empty() ? "application" : name;
}

class Drafter {
public:
  Drafter(const Findings& findings, const Discovery& discovery, const std::string& arch)
      : findings_(findings), discovery_(discovery), arch_(arch) {}

  Draft run() {
    describe_project();
    for (const DiscoveredPoint& found : discovery_.points)
      add(found);
    add_configurations();
    return std::move(draft_);
  }

private:
  void describe_project() {
    spec::Application& application = draft_.application;
    application.name = name_of(findings_.name);
    // Without a digit it is a macro or variable that could not be evaluated.
    if (findings_.version.find_first_of("0123456789") != std::string::npos)
      application.version = findings_.version;
    application.build.system = findings_.system.value_or(spec::BuildSystem::make);
    application.build.directory = findings_.directory;
    install_products(findings_, application);
    remark("", "A draft by `xaas init` for " + arch_ + ", to review.");
    add_license();
    add_arguments();
  }

  void add_license() {
    const std::optional<License>& license = findings_.license;
    if (!license)
      return;
    draft_.application.license = license->expression;
    if (license->expression.empty())
      remark("", "No `license`: " + license->reason + ".");
  }

  // What makes the build fast and small without changing the programs.
  void add_arguments() {
    std::vector<std::string>& arguments = draft_.application.build.arguments;
    if (draft_.application.build.system == spec::BuildSystem::meson) {
      arguments.push_back("-Dbuildtype=release");
      remark("/build", "Without a build type, Meson does not optimize.");
    }
    if (findings_.tool_optimizes)
      optimize_as_cmake_does();
    const Classification all(findings_);
    std::vector<std::string> unwanted;
    for (const Option& option : findings_.options) {
      if (option.required)
        remark("",
               "The build fails unless build.arguments sets " + option.name + " (" + at(option.place) + ").");
      const bool is_switch = option.kind == Option::Kind::boolean || option.initial == "enabled";
      if (!is_switch || !option.initial || !has_by_default(option) ||
          !is_unwanted(without_neutral(all.words_of(option.name))))
        continue;
      const std::vector<std::string> off = arguments_of(all.system, option, false);
      arguments.insert(arguments.end(), off.begin(), off.end());
      unwanted.push_back(option.name + " (" + at(option.place) + ")");
    }
    if (!unwanted.empty())
      remark("/build", "Tests and documentation are not needed in the image: " + join(unwanted, ", ") + ".");
  }

  // CMake's and Meson's release builds use -O3. Autoconf's -g -O2 is no choice of the project, and the debug
  // information would only make the image larger.
  void optimize_as_cmake_does() {
    static const std::map<std::string, std::vector<const char*>> variables = {
        {"C", {"CFLAGS"}}, {"CXX", {"CXXFLAGS"}}, {"Fortran", {"FFLAGS", "FCFLAGS"}}};
    std::map<std::string, std::string>& environment = draft_.application.build.environment;
    for (const std::string& language : findings_.languages)
      if (const auto found = variables.find(language); found != variables.end())
        for (const char* variable : found->second)
          environment[variable] = "-O3";
    if (!environment.empty())
      remark("/build/environment",
             "Instead of Autoconf's default, -g -O2, which the project does not change.");
  }

  void remark(const std::string& place, const std::string& text) { draft_.remarks.push_back({place, text}); }

  void leave_out(const DiscoveredPoint& found, const std::string& name, const std::string& value,
                 const std::string& reason) {
    std::optional<Place> place;
    if (!found.evidence.empty())
      place = found.evidence.front();
    draft_.left_out.push_back({name, value, reason, place});
  }

  void add(const DiscoveredPoint& found) {
    Point point = found.point;
    if (point.category == "cpu" && !keep_possible(found, point))
      return;
    if (const std::string stronger = stronger_everywhere(found); !stronger.empty()) {
      leave_out(found, found.option, "", "every " + arch_ + " has more, and " + stronger + " is for that");
      return;
    }
    remark("/specializations/" + point.name, evidence_of(found));
    if (!needs_cpu(point))
      avoid_needs(point);
    if (is_extension(point))
      follow_switch(point);
    else if (needs_cpu(point) && is_only_one(found) && is_complete(point))
      replace_isa(found, point);
    else if (needs_cpu(point))
      follow_choice(found, point);
    draft_.application.points.push_back(std::move(point));
  }

  // The option for a later version of the same extension (SSE, SSE2), if every CPU of the architecture has
  // both. Projects have switches for both only where the earlier one is for special cases: FFTW's
  // --enable-sse is an error unless the precision is single.
  std::string stronger_everywhere(const DiscoveredPoint& found) const {
    const auto weakest = target::features_of(arch_, target::isa_levels(arch_).front());
    const auto is_everywhere = [&](const Point& point) {
      return weakest && is_extension(point) &&
             target::missing_features(point.find("on")->requires_.cpu, *weakest).empty();
    };
    if (!is_everywhere(found.point))
      return {};
    const std::vector<std::string>& own = found.point.find("on")->requires_.cpu;
    for (const DiscoveredPoint& other : discovery_.points)
      if (is_everywhere(other.point))
        for (const std::string& feature : other.point.find("on")->requires_.cpu)
          if (own.size() == 1 && feature != own.front() && feature.starts_with(own.front()))
            return other.option;
    return {};
  }

  // A default that needs a GPU, say, would leave an image that no other machine can use.
  void avoid_needs(Point& point) {
    const spec::Value* const preset = point.find(point.default_);
    if (!preset || preset->requires_.empty())
      return;
    for (const spec::Value& value : point.values)
      if (value.requires_.empty()) {
        remark("/specializations/" + point.name,
               "The project's default is " + point.default_ + ", which not every machine can use.");
        point.default_ = value.value;
        return;
      }
  }

  // Without levels, other points would have nothing to follow.
  bool is_only_one(const DiscoveredPoint& found) const {
    return std::none_of(
        discovery_.points.begin(), discovery_.points.end(), [&](const DiscoveredPoint& other) {
          return &other != &found &&
                 std::any_of(other.point.values.begin(), other.point.values.end(), [&](const auto& value) {
                   return !value.requires_.cpu.empty() && can_have(arch_, value.requires_.cpu);
                 });
        });
  }

  // Removes the values that need a CPU of another architecture; false if nothing is left to choose.
  bool keep_possible(const DiscoveredPoint& found, Point& point) {
    const bool is_switch = point.find("on") != nullptr;
    const bool is_foreign = is_switch && !found.simd_arch.empty() && found.simd_arch != arch_;
    const auto impossible = [&](const spec::Value& value) {
      return !can_have(arch_, value.requires_.cpu) || (is_foreign && value.value == "on");
    };
    std::vector<std::string> lost;
    for (const spec::Value& value : point.values)
      if (impossible(value))
        lost.push_back(value.value);
    if (lost.empty())
      return true;
    const std::string reason = arch_ + " has no such instructions";
    if (is_switch || point.values.size() - lost.size() < 2) {
      leave_out(found, found.option, "", reason);
      return false;
    }
    std::erase_if(point.values, impossible);
    if (!point.default_.empty() && !point.find(point.default_))
      point.default_.clear();
    leave_out(found, point.name, join(lost, ", "), reason);
    return true;
  }

  bool is_guessed(const std::string& name) const {
    return std::any_of(findings_.options.begin(), findings_.options.end(),
                       [&](const Option& option) { return option.name == name && option.guessed; });
  }

  std::string evidence_of(const DiscoveredPoint& found) const {
    std::vector<std::string> places;
    for (const Place& place : found.evidence)
      places.push_back(at(place));
    std::string text = found.option + (places.empty() ? "" : " (" + join(places, ", ") + ")");
    for (const Option& option : findings_.options)
      if (option.name == found.option && !option.help.empty())
        text += ": " + option.help;
    if (is_guessed(found.option))
      text += "\nGuessed: a command declares it that is not in the tree.";
    return text;
  }

  // A build that decides by itself (`auto`) would decide by the build machine.
  void follow_switch(Point& point) {
    std::erase_if(point.values, [](const spec::Value& value) { return value.value == "auto"; });
    follow(point);
    const std::vector<std::string>& features = point.find("on")->requires_.cpu;
    std::vector<std::string> levels;
    for (const std::string& level : target::isa_levels(arch_))
      if (const auto own = target::features_of(arch_, level);
          own && target::missing_features(features, *own).empty())
        levels.push_back(level);
    remark("/specializations/" + point.name,
           levels.empty()
               ? "Off: no ISA level has " + join(features, ", ") + "."
               : "On at the ISA levels that have " + join(features, ", ") + ": " + join(levels, ", ") + ".");
  }

  // Removes the values that leave the choice to the build machine, if there are others for every CPU.
  void leave_out_asking(const DiscoveredPoint& found, Point& point) {
    const bool has_other = std::any_of(point.values.begin(), point.values.end(), [](const auto& value) {
      return value.requires_.cpu.empty() && !asks_the_machine(value.value);
    });
    std::vector<std::string> lost;
    if (has_other)
      std::erase_if(point.values, [&](const spec::Value& value) {
        const bool asks = value.requires_.cpu.empty() && asks_the_machine(value.value);
        if (asks)
          lost.push_back(value.value);
        return asks;
      });
    if (!lost.empty())
      leave_out(found, point.name, join(lost, ", "), "the build machine would decide");
  }

  void follow_choice(const DiscoveredPoint& found, Point& point) {
    leave_out_asking(found, point);
    put_default_first(point);
    follow(point);
    remark("/specializations/" + point.name, "Each ISA level has the last value that it can run.");
  }

  static void follow(Point& point) {
    point.follows_isa = true;
    point.default_.clear();
  }

  // Whether some value is for each level: it needs something that the level has and the one below lacks. The
  // weakest level is met by a value that every CPU of the architecture can run.
  bool is_complete(const Point& point) const {
    std::vector<std::string> below;
    for (const std::string& level : target::isa_levels(arch_)) {
      const auto features = target::features_of(arch_, level);
      if (!features)
        return false;
      const bool met = std::any_of(point.values.begin(), point.values.end(), [&](const spec::Value& value) {
        const std::vector<std::string> needs = target::with_implied(arch_, value.requires_.cpu);
        return target::missing_features(needs, *features).empty() &&
               (below.empty() ? !asks_the_machine(value.value)
                              : !target::missing_features(needs, below).empty());
      });
      if (!met)
        return false;
      below = *features;
    }
    return true;
  }

  void replace_isa(const DiscoveredPoint& found, Point& point) {
    leave_out_asking(found, point);
    draft_.application.isa = std::vector<std::string>();
    const auto weakest = target::features_of(arch_, target::isa_levels(arch_).front());
    const spec::Value* everywhere = nullptr; // the strongest that every CPU of the architecture can run
    for (const spec::Value& value : point.values)
      if (weakest && !asks_the_machine(value.value) &&
          target::missing_features(value.requires_.cpu, *weakest).empty())
        everywhere = &value;
    for (const spec::Value& value : point.values)
      if (&value == everywhere ||
          (weakest && !target::missing_features(value.requires_.cpu, *weakest).empty()))
        draft_.application.configurations.push_back({{point.name, value.value}});
    point.default_ = everywhere ? everywhere->value : "";
    remark("/isa", "No ISA levels: " + point.name + " has a value for each of them, and the project " +
                       "compiles accordingly.");
    remark("/configurations", "One for each instruction set that " + point.name + " has for " + arch_ +
                                  "; the other points have their defaults.");
  }

  void add_configurations() {
    const Point* example = nullptr;
    for (const Point& point : draft_.application.points)
      if (!point.follows_isa && point.values.size() > 1)
        example = example ? example : &point;
    if (!example || !draft_.application.configurations.empty())
      return;
    draft_.application.configurations.push_back({});
    std::string other = example->values.back().value;
    if (other == example->default_)
      other = example->values.front().value;
    remark("/configurations", "{}: the default of every point, at each ISA level of " + arch_ +
                                  ".\nAnother entry could be {\"" + example->name + "\": \"" + other +
                                  "\"}.");
  }

  const Findings& findings_;
  const Discovery& discovery_;
  const std::string arch_;
  Draft draft_;
};

} // namespace

Draft draft(const Findings& findings, const Discovery& discovery, const std::string& arch) {
  return Drafter(findings, discovery, arch).run();
}

void leave_out(Draft& draft, LeftOut what) {
  spec::Application& application = draft.application;
  const auto is_named = [&](const std::map<std::string, std::string>& values) {
    const auto found = values.find(what.name);
    return found != values.end() && (what.value.empty() || found->second == what.value);
  };
  for (Point& point : application.points) {
    if (point.name != what.name)
      continue;
    std::erase_if(point.values,
                  [&](const auto& value) { return what.value.empty() || value.value == what.value; });
    if (!point.find(point.default_))
      point.default_.clear();
    if (point.follows_isa && !point.values.empty())
      put_default_first(point);
  }
  std::erase_if(application.points, [](const Point& point) { return point.values.empty(); });
  std::erase_if(application.configurations, is_named);
  std::erase_if(application.exclude, is_named);
  draft.left_out.push_back(std::move(what));
}

} // namespace xaas::discover

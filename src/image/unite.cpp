// One bundle from several.
//
// A build of all configurations would not have written the inputs' tables side by side: tables must have what
// configurations use and nothing else, configurations are ordered by their points, and if two files of a kit
// have the same content, the name that stays must not depend on the order of the inputs.
#include <xaas/base/text.h>
#include <xaas/image/bundle.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <tuple>

namespace xaas::image {

namespace {

using FileKind = link::InstalledFile::Kind;
using Files = std::map<std::string, const link::InstalledFile*>;

constexpr const char* isa = "isa";

Error differ(const NamedBundle& a, const NamedBundle& b, const std::string& what, const std::string& of_a,
             const std::string& of_b) {
  return make_error(ErrorKind::usage,
                    "the images are of different " + what + ": " + a.name + " has " +
                        (of_a.empty() ? "none" : of_a) + ", " + b.name + " has " +
                        (of_b.empty() ? "none" : of_b),
                    "images can be merged if the same version of xaas built them from the same application");
}

// The bases of two architectures are different images.
std::string text_of(const spec::Image& image) {
  return Json{{"base", image.base == no_base ? no_base : "image"},
              {"prefix", image.prefix},
              {"entrypoint", image.entrypoint},
              {"env", image.env}}
      .dump();
}

std::string text_of(const std::optional<Base>& base) {
  return base ? base->digest.to_string() : no_base;
}

// The properties that may differ between architectures are left out.
Result<void> check_same_architecture(const NamedBundle& a, const NamedBundle& b) {
  if (a.bundle.arch != b.bundle.arch)
    return differ(a, b, "architectures", a.bundle.arch, b.bundle.arch);
  if (text_of(a.bundle.base) != text_of(b.bundle.base))
    return differ(a, b, "base images", text_of(a.bundle.base), text_of(b.bundle.base));
  return {};
}

std::string text_of(const std::vector<spec::HostPreference>& host) {
  Json json = Json::array();
  for (const spec::HostPreference& preference : host)
    json.push_back(spec::to_json(preference));
  return json.dump();
}

std::string values_of(const spec::SpecializationPoint& point) {
  std::vector<std::string> values;
  for (const spec::Value& value : point.values)
    values.push_back(value.value);
  return point.name + "=" + join(values, "|");
}

std::string text_of(const std::vector<spec::SpecializationPoint>& points) {
  std::vector<std::string> texts;
  for (const spec::SpecializationPoint& point : points)
    texts.push_back(values_of(point));
  return join(texts, " ");
}

bool equal(const spec::SpecializationPoint& a, const spec::SpecializationPoint& b) {
  return spec::to_json(a) == spec::to_json(b);
}

// The point of the ISA levels, as building makes it for these values.
bool is_isa_point(const spec::SpecializationPoint& point, const std::vector<std::string>& known) {
  if (point.name != isa)
    return false;
  std::vector<std::string> levels;
  for (const spec::Value& value : point.values) {
    if (std::find(known.begin(), known.end(), value.value) == known.end())
      return false;
    levels.push_back(value.value);
  }
  return equal(point, spec::isa_point(levels));
}

// The point with the levels of both, weakest first.
spec::SpecializationPoint joined(const spec::SpecializationPoint& a, const spec::SpecializationPoint& b,
                                 const std::vector<std::string>& known) {
  std::vector<std::string> levels;
  for (const std::string& level : known)
    if (a.find(level) || b.find(level))
      levels.push_back(level);
  return spec::isa_point(levels);
}

// Adds the points of another bundle to `points`.
Result<void> add_points(std::vector<spec::SpecializationPoint>& points, const NamedBundle& first,
                        const NamedBundle& other) {
  const std::vector<spec::SpecializationPoint>& added = other.bundle.points;
  const std::vector<std::string> known = target::isa_levels(first.bundle.arch);
  bool same = points.size() == added.size();
  for (size_t i = 0; same && i < points.size(); ++i) {
    if (is_isa_point(points[i], known) && is_isa_point(added[i], known)) {
      points[i] = joined(points[i], added[i], known);
    } else if (points[i].name == added[i].name && values_of(points[i]) == values_of(added[i]) &&
               !equal(points[i], added[i])) {
      return differ(first, other, "application specs: point " + points[i].name,
                    spec::to_json(points[i]).dump(), spec::to_json(added[i]).dump());
    } else {
      same = equal(points[i], added[i]);
    }
  }
  return same ? Result<void>()
              : differ(first, other, "specialization points", text_of(points), text_of(added));
}

Files by_path(const std::vector<link::InstalledFile>& files) {
  Files paths;
  for (const link::InstalledFile& file : files)
    paths[file.path] = &file;
  return paths;
}

bool is_made(const link::InstalledFile& file) {
  return file.kind == FileKind::unit || file.kind == FileKind::archive || file.kind == FileKind::link;
}

// A file without the record that it is made from, which is compared separately.
Json but_made_from(link::InstalledFile file) {
  if (is_made(file))
    file.digest = Digest();
  return link::to_json(file);
}

// The differences between two builds of one configuration, for messages.
class Comparison {
public:
  Comparison(const Bundle& a, const BundleConfiguration& in_a, const Bundle& b,
             const BundleConfiguration& in_b)
      : a_(a), b_(b), in_a_(in_a), in_b_(in_b) {}

  Result<std::vector<std::string>> run() {
    if (in_a_.arguments != in_b_.arguments)
      found_.push_back("the arguments of the build (" + join(in_a_.arguments, " ") + "; " +
                       join(in_b_.arguments, " ") + ")");
    XAAS_CHECK(compare_made());
    compare_files(in_a_.installed, in_b_.installed);
    compare_files(in_a_.runtime, in_b_.runtime);
    return std::move(found_);
  }

private:
  using Sources = std::map<std::string, std::set<Digest>>; // -> modules or units

  Sources sources_of(const Bundle& bundle, const Usage& usage, bool modules) const {
    Sources sources;
    for (const Digest& id : usage.units) {
      const ir::Unit& unit = bundle.units.at(id);
      sources[unit.source].insert(modules ? unit.module : id);
    }
    return sources;
  }

  void compare_sources(const Sources& a, const Sources& b, const std::string& what) {
    std::set<std::string> names;
    for (const Sources* sources : {&a, &b})
      for (const auto& [name, digests] : *sources)
        names.insert(name);
    for (const std::string& name : names) {
      const auto of_a = a.find(name), of_b = b.find(name);
      if (told_.count(name) || (of_a != a.end() && of_b != b.end() && of_a->second == of_b->second))
        continue;
      told_.insert(name);
      found_.push_back(what + name);
    }
  }

  Result<void> compare_made() {
    XAAS_TRY(const Usage of_a, usage_of(a_, in_a_));
    XAAS_TRY(const Usage of_b, usage_of(b_, in_b_));
    compare_sources(sources_of(a_, of_a, true), sources_of(b_, of_b, true), "the IR of ");
    compare_sources(sources_of(a_, of_a, false), sources_of(b_, of_b, false), "the options of ");
    std::set<std::string> kit;
    for (const Digest& digest : of_a.kit)
      if (!of_b.kit.count(digest))
        kit.insert(a_.kit.at(digest).name);
    for (const Digest& digest : of_b.kit)
      if (!of_a.kit.count(digest))
        kit.insert(b_.kit.at(digest).name);
    for (const std::string& name : kit)
      found_.push_back("the linked file " + name);
    explained_ = !found_.empty();
    return {};
  }

  void compare_files(const std::vector<link::InstalledFile>& a, const std::vector<link::InstalledFile>& b) {
    const Files of_a = by_path(a), of_b = by_path(b);
    Files all = of_a;
    all.insert(of_b.begin(), of_b.end());
    for (const auto& [path, any] : all) {
      const auto in_a = of_a.find(path), in_b = of_b.find(path);
      if (in_a == of_a.end() || in_b == of_b.end())
        found_.push_back("/" + path + ", which only one of them has");
      else if (but_made_from(*in_a->second) != but_made_from(*in_b->second))
        found_.push_back("/" + path);
      else if (!explained_ && in_a->second->digest != in_b->second->digest)
        found_.push_back("how /" + path + " is linked");
    }
  }

  const Bundle &a_, &b_;
  const BundleConfiguration &in_a_, &in_b_;
  std::set<std::string> told_;
  bool explained_ = false; // explains why linked files differ
  std::vector<std::string> found_;
};

bool equal(const BundleConfiguration& a, const BundleConfiguration& b) {
  return a.arguments == b.arguments && content_of(a) == content_of(b);
}

// Where a configuration comes from.
struct Origin {
  const NamedBundle* from = nullptr;
  const BundleConfiguration* configuration = nullptr;
};

class Union {
public:
  explicit Union(const std::vector<NamedBundle>& bundles) : bundles_(bundles) {}

  Result<Bundle> run() {
    const NamedBundle& first = bundles_.front();
    describe(first.bundle);
    for (const NamedBundle& each : bundles_) {
      XAAS_CHECK(check_same_application(first, each));
      XAAS_CHECK(check_same_architecture(first, each));
      XAAS_CHECK(add_points(bundle_.points, first, each));
      if (bundle_.base && each.bundle.base)
        bundle_.base = joined(*bundle_.base, *each.bundle.base);
    }
    for (const NamedBundle& each : bundles_)
      for (const BundleConfiguration& configuration : each.bundle.configurations)
        XAAS_CHECK(add({&each, &configuration}));
    for (const auto& [place, origin] : configurations_) {
      bundle_.configurations.push_back(*origin.configuration);
      XAAS_CHECK(check_runtime(origin));
    }
    unite_packages();
    return std::move(bundle_);
  }

private:
  void describe(const Bundle& first) {
    bundle_.name = first.name;
    bundle_.version = first.version;
    bundle_.license = first.license;
    bundle_.source = first.source;
    bundle_.revision = first.revision;
    bundle_.arch = first.arch;
    bundle_.llvm = first.llvm;
    bundle_.tool = first.tool;
    bundle_.image = first.image;
    bundle_.base = first.base;
    bundle_.points = first.points;
    bundle_.host = first.host;
  }

  // The indices of the values in point order, by which building orders configurations.
  Result<std::vector<size_t>> place_of(const Origin& origin) const {
    std::vector<size_t> place;
    const spec::Configuration& configuration = origin.configuration->configuration;
    for (const spec::SpecializationPoint& point : bundle_.points) {
      const std::string* chosen = configuration.find(point.name);
      const spec::Value* value = chosen ? point.find(*chosen) : nullptr;
      if (!value)
        break;
      place.push_back(static_cast<size_t>(value - point.values.data()));
    }
    if (place.size() != bundle_.points.size() || configuration.values().size() != place.size())
      return make_error(ErrorKind::integrity, origin.from->name + ": configuration " + configuration.id() +
                                                  " does not have one value for each point");
    return place;
  }

  Result<void> add(const Origin& origin) {
    XAAS_TRY(const std::vector<size_t> place, place_of(origin));
    const auto [known, added] = configurations_.emplace(place, origin);
    if (!added && !equal(*known->second.configuration, *origin.configuration))
      return different(known->second, origin);
    // Also for a configuration that is there already, because names of kit files may differ.
    XAAS_TRY(const Usage usage, usage_of(origin.from->bundle, *origin.configuration).in(origin.from->name));
    return add_tables(*origin.from, usage);
  }

  static Result<void> different(const Origin& a, const Origin& b) {
    XAAS_TRY(const std::vector<std::string> found,
             Comparison(a.from->bundle, *a.configuration, b.from->bundle, *b.configuration).run());
    constexpr size_t most = 5;
    const std::vector<std::string> shown(found.begin(), found.begin() + std::min(found.size(), most));
    return make_error(
        ErrorKind::failed,
        "configuration " + a.configuration->configuration.id() + " is not the same in " + a.from->name +
            " and " + b.from->name + ": they differ in " +
            (shown.empty() ? "the order of files" : join(shown, ", ")) +
            (found.size() > most ? " and " + std::to_string(found.size() - most) + " more" : ""),
        "they were built from different sources, or with different libraries and tools; build one of "
        "them again");
  }

  template <typename Value>
  static Result<void> add_entry(const NamedBundle& from, const std::map<Digest, Value>& table,
                                const Digest& digest, std::map<Digest, Value>& all) {
    const auto [known, added] = all.emplace(digest, table.at(digest));
    if (!added && known->second != table.at(digest))
      return make_error(ErrorKind::integrity, from.name + ": bundle: " + digest.to_string() +
                                                  " differs from that of another image");
    return {};
  }

  Result<void> add_tables(const NamedBundle& from, const Usage& usage) {
    const Bundle& bundle = from.bundle;
    std::set<Digest> units = usage.units;
    units.insert(usage.device_units.begin(), usage.device_units.end());
    for (const Digest& id : units) {
      const ir::Unit& unit = bundle.units.at(id);
      if (bundle_.units.contains(id) && bundle_.prepared.contains(id) != bundle.prepared.contains(id))
        return make_error(ErrorKind::usage,
                          from.name + ": the IR module of " + unit.source + " is " +
                              (bundle.prepared.contains(id) ? "prepared, and that of another image is raw"
                                                            : "raw, and that of another image is prepared"),
                          "build all of them with the same --ir");
      XAAS_CHECK(add_entry(from, bundle.units, id, bundle_.units));
      XAAS_CHECK(add_entry(from, bundle.options, unit.options, bundle_.options));
      XAAS_CHECK(add_entry(from, bundle.modules, stored_module(bundle, id), bundle_.modules));
      if (bundle.prepared.contains(id))
        XAAS_CHECK(add_entry(from, bundle.prepared, id, bundle_.prepared));
    }
    for (const Digest& digest : usage.archives)
      XAAS_CHECK(add_entry(from, bundle.archives, digest, bundle_.archives));
    for (const Digest& digest : usage.links)
      XAAS_CHECK(add_entry(from, bundle.links, digest, bundle_.links));
    for (const Digest& digest : usage.kit) {
      const KitFile& file = bundle.kit.at(digest);
      const auto [known, added] = bundle_.kit.emplace(digest, file);
      if (!added && known->second.size != file.size)
        return make_error(ErrorKind::integrity, from.name + ": bundle: kit file " + file.name +
                                                    " differs in size from that of another image");
      known->second = image::joined(known->second, file);
    }
    return {};
  }

  // Every input has the packages of its files.
  void unite_packages() {
    std::map<Package, std::set<Digest>> all; // by everything but the files
    for (const NamedBundle& each : bundles_)
      for (const Package& package : each.bundle.packages) {
        Package key = package;
        key.files.clear();
        all[key].insert(package.files.begin(), package.files.end());
      }
    for (auto& [key, files] : all) {
      bundle_.packages.push_back(key);
      bundle_.packages.back().files = std::move(files);
    }
  }

  // A run-time file lies in one layer for all configurations.
  Result<void> check_runtime(const Origin& origin) {
    for (const link::InstalledFile& file : origin.configuration->runtime) {
      const auto [known, added] = runtime_.emplace(file.path, std::pair(origin, &file));
      if (added || link::to_json(*known->second.second) == link::to_json(file))
        continue;
      const Origin& other = known->second.first;
      return make_error(ErrorKind::failed,
                        "run-time file /" + file.path + " of configuration " +
                            other.configuration->configuration.id() + " in " + other.from->name +
                            " is not that of configuration " + origin.configuration->configuration.id() +
                            " in " + origin.from->name,
                        "build all of them where the same libraries are installed");
    }
    return {};
  }

  const std::vector<NamedBundle>& bundles_;
  Bundle bundle_;
  std::map<std::vector<size_t>, Origin> configurations_; // in the order of their points
  std::map<std::string, std::pair<Origin, const link::InstalledFile*>> runtime_;
};

} // namespace

KitFile joined(const KitFile& a, const KitFile& b) {
  const auto order = [](const KitFile& file) { return std::tuple(!file.native, file.name, file.reason); };
  KitFile file = order(b) < order(a) ? b : a;
  file.start = a.start || b.start;
  return file;
}

Result<void> check_same_application(const NamedBundle& a, const NamedBundle& b) {
  const std::vector<std::tuple<const char*, std::string, std::string>> facts = {
      {"applications", a.bundle.name, b.bundle.name},
      {"versions of the application", a.bundle.version, b.bundle.version},
      {"licenses", a.bundle.license, b.bundle.license},
      {"places of the sources", a.bundle.source, b.bundle.source},
      {"revisions of the sources", a.bundle.revision, b.bundle.revision},
      {"versions of xaas", a.bundle.tool, b.bundle.tool},
      {"versions of LLVM", a.bundle.llvm, b.bundle.llvm},
      {"settings of the deployed image", text_of(a.bundle.image), text_of(b.bundle.image)},
      {"preferences for the host's libraries", text_of(a.bundle.host), text_of(b.bundle.host)}};
  for (const auto& [what, of_a, of_b] : facts)
    if (of_a != of_b)
      return differ(a, b, what, of_a, of_b);
  return {};
}

Result<Bundle> unite(const std::vector<NamedBundle>& bundles) {
  if (bundles.empty())
    return make_error(ErrorKind::usage, "no image to merge");
  return Union(bundles).run();
}

} // namespace xaas::image

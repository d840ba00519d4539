// Properties of every spec and every system, checked on random ones against a slow and simple implementation
// of the rules; and points from a hostile image.
#include <xaas/select/select.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>

namespace xaas::select {
namespace {

using spec::Configuration;
using spec::SpecializationPoint;
using system::SystemDescription;
using testing::HasSubstr;

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}
  size_t below(size_t end) { return engine_() % end; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <typename T> const T& of(const std::vector<T>& all) { return all[below(all.size())]; }
  template <typename T> void shuffle(std::vector<T>& all) { std::shuffle(all.begin(), all.end(), engine_); }

private:
  std::mt19937 engine_;
};

const std::vector<std::string> cpus = {"x86-64", "nehalem",     "sandybridge", "haswell",
                                       "bdver2", "znver1",      "znver4",      "skylake-avx512",
                                       "skx",    "neoverse-v2", "a64fx",       "grace"};

struct Case {
  std::vector<SpecializationPoint> points;
  std::vector<Configuration> available;
  SystemDescription system;
};

spec::Requirement requirement(Random& random) {
  spec::Requirement required;
  if (random.one_in(3))
    required.cpu = random.of<std::vector<std::string>>(
        {{"avx2", "fma"}, {"x86-64-v4"}, {"fma4"}, {"sse4.1"}, {"neon"}, {"sve"}, {"x86-64-v2"}});
  if (random.one_in(4))
    required.gpu = random.of<spec::Requirement::Gpu>(
        {{"nvidia", "", "450"}, {"nvidia", "sm_90", ""}, {"amd", "gfx90a", ""}, {"", "", ""}});
  if (random.one_in(5))
    required.mpi = random.of<std::string>({"mpich-12", "openmpi-40"});
  using From = spec::Requirement::From;
  if (random.one_in(4))
    required.libraries = {random.of<spec::Requirement::Library>(
        {{"mkl", "", From::host}, {"fftw3", "3.3", From::host}, {"fftw3", "", From::image}})};
  return required;
}

Case random_case(unsigned seed) {
  Random random(seed);
  Case result;
  std::vector<std::map<std::string, std::string>> all = {{}};
  for (size_t i = 0, count = 1 + random.below(4); i < count; ++i) {
    SpecializationPoint point{"p" + std::to_string(i), "other", "", {}, {}};
    for (size_t j = 0, values = 1 + random.below(4); j < values; ++j)
      point.values.push_back({"v" + std::to_string(j), {}, requirement(random)});
    if (random.one_in(2))
      point.default_ = random.of(point.values).value;
    for (size_t j = 0, rules = random.below(3); j < rules; ++j)
      point.prefer.push_back(
          {{random.of<std::string>({"znver*", "x86-64-v3", "armv8-a", "skylake-avx512", "neoverse-v2", "*"})},
           {random.of(point.values).value, random.of(point.values).value}});
    std::vector<std::map<std::string, std::string>> next;
    for (const auto& one : all)
      for (const spec::Value& value : point.values) {
        next.push_back(one);
        next.back()[point.name] = value.value;
      }
    all = std::move(next);
    result.points.push_back(std::move(point));
  }
  for (const auto& one : all)
    if (!random.one_in(4))
      result.available.emplace_back(one);
  if (result.available.empty())
    result.available.emplace_back(all.front());
  const std::string cpu = random.of(cpus);
  for (const char* arch : {"x86_64", "aarch64"})
    if (const auto system = system::any_system(arch, cpu))
      result.system = *system;
  if (random.one_in(2))
    result.system.gpus = {random.of<system::Gpu>({{"nvidia", "", "sm_90", 0, "550.1", "", ""},
                                                  {"nvidia", "", "", 0, "", "", "lspci"},
                                                  {"amd", "", "gfx90a", 0, "", "", ""}})};
  if (random.one_in(2))
    result.system.mpi = {{"mpich", "", "mpich-12", ""}};
  if (random.one_in(2))
    result.system.libraries = {random.of<system::Named>({{"mkl", "", ""}, {"fftw3", "3.2", ""}})};
  return result;
}

// The values of a point, best first, by the rules of docs/application-spec.md.
std::vector<std::string> order(const SpecializationPoint& point, const SystemDescription& system) {
  std::vector<std::string> wanted;
  for (const spec::Preference& rule : point.prefer)
    if (rule.find({system.arch, system.cpu.name, system.cpu.features}))
      wanted.insert(wanted.end(), rule.values.begin(), rule.values.end());
  std::vector<std::string> listed;
  bool hardware = false;
  for (const spec::Value& value : point.values) {
    listed.push_back(value.value);
    hardware |= !value.requires_.cpu.empty() || value.requires_.gpu;
  }
  if (hardware)
    std::reverse(listed.begin(), listed.end());
  else
    wanted.push_back(point.default_);
  wanted.insert(wanted.end(), listed.begin(), listed.end());
  std::vector<std::string> result;
  for (const std::string& value : wanted)
    if (const spec::Value* found = point.find(value);
        found && unmet(found->requires_, system).empty() &&
        std::find(result.begin(), result.end(), value) == result.end())
      result.push_back(value);
  return result;
}

// A direct implementation of the rules; "": nothing fits.
std::string best(const Case& given) {
  std::vector<Configuration> left = given.available;
  for (const SpecializationPoint& point : given.points) {
    const auto wanted = order(point, given.system);
    std::erase_if(left, [&](const Configuration& each) {
      return std::find(wanted.begin(), wanted.end(), *each.find(point.name)) == wanted.end();
    });
  }
  for (const SpecializationPoint& point : given.points)
    for (const std::string& value : order(point, given.system)) {
      const auto has = [&](const Configuration& each) { return *each.find(point.name) == value; };
      if (std::none_of(left.begin(), left.end(), has))
        continue;
      std::erase_if(left, [&](const Configuration& each) { return !has(each); });
      break;
    }
  return left.empty() ? "" : left.front().id();
}

void check_outcomes(const Case& given, const Selection& selection) {
  std::set<std::string> chosen;
  size_t values = 0;
  for (const Outcome& each : selection.values) {
    const auto point = std::find_if(given.points.begin(), given.points.end(),
                                    [&](const auto& candidate) { return candidate.name == each.point; });
    ASSERT_NE(point, given.points.end());
    const spec::Value* value = point->find(each.value);
    ASSERT_TRUE(value);
    EXPECT_EQ(each.possible, unmet(value->requires_, given.system).empty());
    EXPECT_FALSE(each.reason.empty());
    if (each.chosen) {
      EXPECT_TRUE(each.possible && each.built);
      EXPECT_TRUE(chosen.insert(each.point).second);
      EXPECT_EQ(each.value, *selection.configuration.find(each.point));
    }
    EXPECT_EQ(each.built,
              std::any_of(given.available.begin(), given.available.end(), [&](const auto& configuration) {
                return *configuration.find(each.point) == each.value;
              }));
    for (const Need& need : each.needs) {
      EXPECT_EQ(need.met, need.lacks.empty());
      EXPECT_FALSE(need.from == Need::From::image && !need.met);
    }
    ++values;
  }
  EXPECT_EQ(chosen.size(), given.points.size());
  for (const SpecializationPoint& point : given.points)
    values -= point.values.size();
  EXPECT_EQ(values, 0u);
  EXPECT_EQ(selection.rejected.size(), given.available.size() - 1);
  for (const Rejection& rejection : selection.rejected)
    EXPECT_FALSE(rejection.reason.empty());
}

TEST(Property, SelectionFollowsTheRules) {
  size_t fitting = 0;
  for (unsigned seed = 0; seed < 800; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case given = random_case(seed);
    const std::string expected = best(given);
    const auto selection = select(given.points, given.available, given.system, {});
    if (expected.empty()) {
      ASSERT_FALSE(selection);
      EXPECT_EQ(selection.error().kind, ErrorKind::unsatisfied);
      // A reason for each configuration; one line if all have the same.
      const std::string& message = selection.error().message;
      if (message.find('\n') == std::string::npos)
        EXPECT_THAT(message, HasSubstr("fits this system (" + given.system.cpu.name + "): "));
      else
        for (const Configuration& configuration : given.available)
          EXPECT_THAT(message, HasSubstr(configuration.id() + ": "));
      continue;
    }
    ++fitting;
    ASSERT_TRUE(selection) << selection.error().message;
    EXPECT_EQ(selection->configuration.id(), expected);
    check_outcomes(given, *selection);
    if (HasFailure())
      return;
  }
  EXPECT_GT(fitting, 300u);
}

TEST(Property, TheOrderOfConfigurationsDoesNotMatter) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Case given = random_case(seed);
    const auto first = select(given.points, given.available, given.system, {});
    Random random(seed);
    random.shuffle(given.available);
    const auto second = select(given.points, given.available, given.system, {});
    ASSERT_EQ(bool(first), bool(second)) << seed;
    if (!first)
      continue;
    EXPECT_EQ(first->configuration, second->configuration) << seed;
    for (size_t i = 0; i < first->values.size(); ++i)
      EXPECT_EQ(first->values[i].reason, second->values[i].reason) << seed;
    std::map<std::string, std::string> reasons;
    for (const Rejection& rejection : first->rejected)
      reasons[rejection.configuration] = rejection.reason;
    for (const Rejection& rejection : second->rejected)
      EXPECT_EQ(reasons[rejection.configuration], rejection.reason) << seed;
  }
}

TEST(Property, SettingTheSelectedValuesChangesNothing) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Case given = random_case(seed);
    const auto selection = select(given.points, given.available, given.system, {});
    if (!selection)
      continue;
    const auto by_hand =
        select(given.points, given.available, given.system, selection->configuration.values());
    ASSERT_TRUE(by_hand) << seed << ": " << by_hand.error().message;
    EXPECT_EQ(by_hand->configuration, selection->configuration) << seed;
    for (const auto& [point, value] : selection->configuration.values()) {
      const auto one = select(given.points, given.available, given.system, {{point, value}});
      ASSERT_TRUE(one) << seed << ": " << one.error().message;
      EXPECT_EQ(one->configuration, selection->configuration) << seed;
    }
    // Setting any value gives that value or an error.
    for (const Outcome& outcome : selection->values) {
      const auto set = select(given.points, given.available, given.system, {{outcome.point, outcome.value}});
      if (set)
        EXPECT_EQ(*set->configuration.find(outcome.point), outcome.value) << seed;
      else
        EXPECT_EQ(set.error().kind, ErrorKind::unsatisfied) << seed;
      EXPECT_TRUE(!set || outcome.possible) << seed;
    }
  }
}

Result<SpecializationPoint> point_of(const Json& json) {
  return spec::parse_point(JsonReader(json, "point"));
}

// Damages each part of a point of an image in turn: it is refused, or selection still works.
TEST(Hostile, DamagedPoints) {
  const Json good = Json::parse(R"({"name":"simd","category":"cpu","default":"a","values":[
      {"value":"a","arguments":[],"requires":{}},
      {"value":"b","arguments":["-D"],"requires":{"cpu":["avx2"],"gpu":{"vendor":"nvidia","arch":"sm_90","driver":"1"},
       "mpi":"mpich-12","library":[{"name":"x","version":"1"},{"name":"y","from":"image"}],"values":{"simd":"a"}}}],
      "prefer":[{"cpu":["znver*"],"values":["b"]}]})");
  const auto system = system::any_system("x86_64", "znver4");
  ASSERT_TRUE(system && point_of(good));
  size_t refused = 0, taken = 0;
  const Json places = good.flatten();
  for (const auto& [place, ignored] : places.items())
    for (const Json& bad : {Json(), Json(1), Json(""), Json("*"), Json("image"), Json(std::string(5000, '*')),
                            Json("\x1b[2J"), Json::array(), Json::object(), Json::array({Json::array()})}) {
      Json damaged = good;
      damaged[Json::json_pointer(place)] = bad;
      const auto point = point_of(damaged);
      if (!point) {
        EXPECT_EQ(point.error().kind, ErrorKind::integrity);
        ++refused;
        continue;
      }
      ++taken;
      std::vector<Configuration> available;
      for (const spec::Value& value : point->values)
        available.emplace_back(std::map<std::string, std::string>{{point->name, value.value}});
      if (const auto selection = select({*point}, available, *system, {}))
        EXPECT_FALSE(explain(*selection).empty());
    }
  EXPECT_GT(refused, 50u);
  EXPECT_GT(taken, 20u);
}

TEST(Hostile, UnknownNames) {
  SpecializationPoint point{"p", "cpu", "", {{"a", {}, {}}, {"b", {}, {}}}, {}};
  point.values[1].requires_.cpu = {"no-such-feature"};
  point.prefer = {{{"no-such-cpu", std::string(100000, '*') + "x"}, {"b"}}};
  SystemDescription strange;
  strange.arch = "riscv64";
  strange.cpu.name = std::string(100000, 'y');
  const auto selection =
      select({point}, {Configuration({{"p", "a"}}), Configuration({{"p", "b"}})}, strange, {});
  ASSERT_TRUE(selection) << selection.error().message;
  EXPECT_EQ(selection->configuration.id(), "p=a");
  // Two points with one name, and a value of a missing point.
  EXPECT_EQ(select({point, point}, {Configuration({{"p", "a"}})}, strange, {}).error().kind,
            ErrorKind::integrity);
  point.values[0].requires_.values = {{"q", "1"}};
  EXPECT_TRUE(select({point}, {Configuration({{"p", "a"}})}, strange, {}));
}

} // namespace
} // namespace xaas::select

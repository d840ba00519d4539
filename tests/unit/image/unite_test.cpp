#include "image/testing.h"

#include <xaas/image/application_image.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace xaas::image {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> levels = {"x86-64", "x86-64-v2", "x86-64-v3"};

// The bundle that a build of these levels writes: one program for each, of one common unit and one of its
// own, a start file, and a file with a different name in each configuration.
struct Build {
  Bundle bundle;

  static Digest add_unit(Bundle& bundle, const std::string& source, const std::string& ir) {
    ir::UnitOptions options;
    options.codegen["OptimizationLevel"] = 2;
    ir::Unit unit;
    unit.source = source;
    unit.module = digest_of(ir);
    unit.options = options.digest();
    bundle.options[unit.options] = options;
    bundle.modules[unit.module] = ir.size();
    bundle.units[unit.id()] = unit;
    return unit.id();
  }

  static link::LinkItem input(link::FileRef::Kind kind, const Digest& digest, const std::string& name) {
    return {link::LinkItem::Kind::input, "", "", {kind, digest, name}};
  }

  explicit Build(std::vector<std::string> of, const std::string& ir_of_main = "main") {
    bundle.name = "solver";
    bundle.version = "1";
    bundle.arch = "x86_64";
    bundle.llvm = llvm_version();
    bundle.tool = tool_version();
    spec::SpecializationPoint mode{"mode", "other", "b", {{"b", {}, {}}, {"a", {}, {}}}, {}};
    bundle.points = {mode, spec::isa_point(of)};
    for (const std::string chosen : {"b", "a"})
      for (const std::string& level : of)
        add(chosen, level, ir_of_main);
  }

  void add(const std::string& chosen, const std::string& level, const std::string& ir_of_main) {
    const Digest crt = digest_of("crt"), data = digest_of("data");
    bundle.kit[crt] = {"crt1.o", 3, false, ""};
    link::LinkRecord record;
    record.name = "solver";
    record.items = {input(link::FileRef::Kind::kit, crt, "crt1.o"),
                    input(link::FileRef::Kind::unit, add_unit(bundle, "main.c", ir_of_main), "main.o"),
                    input(link::FileRef::Kind::unit, add_unit(bundle, "kernel.c", "kernel " + level + chosen),
                          "kernel.o"),
                    input(link::FileRef::Kind::kit, data, "data-" + level + ".o")};
    const KitFile kit{"data-" + level + ".o", 4, true, "why"};
    const auto [known, added] = bundle.kit.emplace(data, kit);
    known->second = joined(known->second, kit);
    bundle.links[record.digest()] = record;
    BundleConfiguration configuration;
    configuration.configuration = spec::Configuration({{"isa", level}, {"mode", chosen}});
    configuration.installed.push_back(testing::installed_program(record));
    link::InstalledFile library;
    library.path = "usr/lib/libm.so.6";
    library.mode = 0644;
    library.digest = digest_of("libm");
    configuration.runtime.push_back(library);
    bundle.configurations.push_back(std::move(configuration));
  }
};

Result<Bundle> unite_all(const std::vector<Build>& builds) {
  std::vector<NamedBundle> bundles;
  for (size_t i = 0; i < builds.size(); ++i)
    bundles.push_back({"image-" + std::to_string(i), builds[i].bundle});
  return unite(bundles);
}

TEST(Unite, IsOneBuildOfAllInAnyOrder) {
  const std::string whole = to_json(Build(levels).bundle).dump();
  std::vector<Build> builds = {Build({"x86-64"}), Build({"x86-64-v2"}), Build({"x86-64-v3"})};
  std::vector<size_t> order = {0, 1, 2};
  do {
    const auto united = unite_all({builds[order[0]], builds[order[1]], builds[order[2]]});
    ASSERT_TRUE(united) << united.error().message;
    EXPECT_EQ(to_json(*united).dump(), whole);
  } while (std::next_permutation(order.begin(), order.end()));
  // Step by step, and with configurations that are there already.
  const auto first = unite_all({builds[2], Build({"x86-64", "x86-64-v3"})});
  ASSERT_TRUE(first);
  const auto all = unite({{"first", *first}, {"second", builds[1].bundle}, {"third", *first}});
  ASSERT_TRUE(all);
  EXPECT_EQ(to_json(*all).dump(), whole);
}

TEST(Unite, LeavesOutWhatNothingUses) {
  Build build(levels);
  const std::string whole = to_json(build.bundle).dump();
  Build::add_unit(build.bundle, "left.c", "left");
  build.bundle.kit[digest_of("left")] = {"left.o", 4, true, ""};
  const auto united = unite_all({build});
  ASSERT_TRUE(united);
  EXPECT_EQ(to_json(*united).dump(), whole);
}

TEST(Unite, SaysWhatDiffers) {
  const auto error_of = [](const std::function<void(Build&)>& change, ErrorKind kind) {
    Build other({"x86-64"});
    change(other);
    const auto united = unite_all({Build(levels), other});
    EXPECT_FALSE(united);
    EXPECT_EQ(united.error().kind, kind) << united.error().message;
    EXPECT_THAT(united.error().message, HasSubstr("image-0"));
    EXPECT_THAT(united.error().message, HasSubstr("image-1"));
    return united.error().message;
  };
  const auto usage = [&](const std::function<void(Build&)>& change) {
    return error_of(change, ErrorKind::usage);
  };
  EXPECT_THAT(usage([](Build& b) { b.bundle.name = "other"; }), HasSubstr("has solver, image-1 has other"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.version = "2"; }), HasSubstr("has 1, image-1 has 2"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.license = "MIT"; }), HasSubstr("has none, image-1 has MIT"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.tool = "0.0.9"; }), HasSubstr("image-1 has 0.0.9"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.llvm = "21.1.0"; }), HasSubstr("image-1 has 21.1.0"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.arch = "aarch64"; }),
              HasSubstr("has x86_64, image-1 has aarch64"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.image.prefix = "/opt"; }), HasSubstr("/opt"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.host = {{"fftw3", {}}}; }),
              HasSubstr(R"(has [], image-1 has ["fftw3"])"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.points[0].default_ = "a"; }), HasSubstr("point mode"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.points[0].values.pop_back(); }),
              HasSubstr("has mode=b|a isa=x86-64|x86-64-v2|x86-64-v3, image-1 has mode=b isa=x86-64"));
  EXPECT_THAT(usage([](Build& b) { b.bundle.points.pop_back(); }), HasSubstr("image-1 has mode=b|a"));

  const auto failed = [&](const std::function<void(Build&)>& change) {
    return error_of(change, ErrorKind::failed);
  };
  const std::string which =
      "configuration isa=x86-64,mode=b is not the same in image-0 and image-1: they differ in ";
  EXPECT_THAT(failed([](Build& b) { b = Build({"x86-64"}, "other"); }),
              HasSubstr(which + "the IR of main.c"));
  EXPECT_THAT(failed([](Build& b) { b.bundle.configurations[0].arguments = {"-DX"}; }),
              HasSubstr(which + "the arguments of the build (; -DX)"));
  EXPECT_THAT(failed([](Build& b) { b.bundle.configurations[0].installed[0].mode = 0700; }),
              HasSubstr(which + "/usr/local/bin/solver"));
  EXPECT_THAT(failed([](Build& b) {
                b.bundle.configurations[0].installed.push_back(b.bundle.configurations[0].runtime[0]);
                b.bundle.configurations[0].installed.back().path = "usr/local/share/data";
              }),
              HasSubstr(which + "/usr/local/share/data, which only one of them has"));
  EXPECT_THAT(
      failed([](Build& b) { b.bundle.configurations[0].runtime[0].digest = digest_of("other libm"); }),
      HasSubstr(which + "/usr/lib/libm.so.6"));
  // A unit with other options, and a link in another order.
  EXPECT_THAT(failed([](Build& b) {
                link::LinkRecord record = b.bundle.links.at(b.bundle.configurations[0].installed[0].digest);
                std::swap(record.items[0], record.items[1]);
                b.bundle.links[record.digest()] = record;
                b.bundle.configurations[0].installed[0].digest = record.digest();
              }),
              HasSubstr(which + "how /usr/local/bin/solver is linked"));
}

TEST(Unite, OfOneBaseImage) {
  const auto on_base = [](Build build, const std::string& base, const std::string& directory) {
    build.bundle.base =
        Base{.digest = digest_of(base), .directories = {{directory, {}}}, .libraries = {{directory, {}}}};
    build.bundle.image.base = digest_of(base).to_string();
    return build;
  };
  const auto united =
      unite_all({on_base(Build({"x86-64-v2"}), "b", "usr"), on_base(Build({"x86-64"}), "b", "opt")});
  ASSERT_TRUE(united) << united.error().message;
  EXPECT_EQ(united->base->directories.size(), 2u);
  EXPECT_EQ(united->base->libraries.size(), 2u);
  EXPECT_EQ(united->image.base, digest_of("b").to_string());
  const auto other =
      unite_all({on_base(Build({"x86-64-v2"}), "b", "usr"), on_base(Build({"x86-64"}), "c", "usr")});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("different base images: image-0 has sha256:"));
  EXPECT_FALSE(unite_all({on_base(Build({"x86-64-v2"}), "b", "usr"), Build({"x86-64"})}));
  // Those of two architectures differ.
  Build arm = on_base(Build({"x86-64"}), "c", "usr");
  arm.bundle.arch = "aarch64";
  const Build x86 = on_base(Build({"x86-64"}), "b", "usr");
  EXPECT_TRUE(check_same_application({"a", x86.bundle}, {"b", arm.bundle}));
  EXPECT_FALSE(check_same_application({"a", x86.bundle}, {"b", Build({"x86-64"}).bundle}));
}

TEST(Unite, ARunTimeFileIsTheSameForAllConfigurations) {
  Build other({"x86-64"});
  for (BundleConfiguration& each : other.bundle.configurations)
    each.runtime[0].digest = digest_of("other libm");
  const auto united = unite_all({Build({"x86-64-v2"}), other});
  ASSERT_FALSE(united);
  EXPECT_EQ(united.error().kind, ErrorKind::failed);
  EXPECT_EQ(united.error().message,
            "run-time file /usr/lib/libm.so.6 of configuration isa=x86-64,mode=b in image-1 is not that of "
            "configuration isa=x86-64-v2,mode=b in image-0");
}

TEST(Unite, RefusesBundlesThatDoNotAddUp) {
  const auto kind_of = [](const std::function<void(Bundle&)>& change) {
    Build other({"x86-64"});
    change(other.bundle);
    const auto united = unite_all({Build(levels), other});
    return united ? ErrorKind::interrupted : united.error().kind;
  };
  EXPECT_EQ(kind_of([](Bundle& b) { b.units.clear(); }), ErrorKind::integrity);
  EXPECT_EQ(kind_of([](Bundle& b) { b.links.clear(); }), ErrorKind::integrity);
  EXPECT_EQ(kind_of([](Bundle& b) { b.modules.begin()->second += 1; }), ErrorKind::integrity);
  EXPECT_EQ(kind_of([](Bundle& b) { b.kit.begin()->second.size += 1; }), ErrorKind::integrity);
  EXPECT_EQ(kind_of([](Bundle& b) {
              b.configurations[0].configuration = spec::Configuration({{"isa", "x86-64"}, {"mode", "c"}});
            }),
            ErrorKind::integrity);
  EXPECT_EQ(kind_of([](Bundle& b) {
              b.configurations[0].configuration = spec::Configuration({{"isa", "x86-64"}});
            }),
            ErrorKind::integrity);
  EXPECT_EQ(kind_of([](Bundle& b) {
              b.configurations[0].configuration =
                  spec::Configuration({{"isa", "x86-64"}, {"mode", "a"}, {"x", "y"}});
            }),
            ErrorKind::integrity);
  EXPECT_EQ(unite({}).error().kind, ErrorKind::usage);
}

} // namespace
} // namespace xaas::image

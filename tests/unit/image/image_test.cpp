#include "image/testing.h"

#include <xaas/image/warning.h>

#include <xaas/image/deployed.h>
#include <xaas/ir/packed.h>
#include <xaas/oci/layer.h>

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::image {
namespace {

using testing::Fixture;
using ::testing::HasSubstr;
using testing::layers_with_role;

Result<std::map<Digest, std::string>> fetch(const ApplicationImage& image, const std::set<Digest>& wanted,
                                            const std::string& configuration) {
  std::map<Digest, std::string> contents;
  XAAS_CHECK(image.fetch(wanted, configuration, [&](const Digest& digest, const std::string& content) {
    EXPECT_TRUE(contents.emplace(digest, content).second);
    return Result<void>();
  }));
  return contents;
}

TEST(Bundle, SurvivesJson) {
  const Fixture fixture(3);
  const std::string text = to_json(fixture.bundle).dump();
  const auto parsed = parse_bundle(text, "bundle");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(to_json(*parsed).dump(), text);
}

TEST(Bundle, WhoBringsALibrary) {
  Fixture fixture(2);
  Bundle& bundle = fixture.bundle;
  const auto file = [&](size_t index, const std::string& name) {
    const auto found = library_file(bundle, bundle.configurations.at(index), name);
    EXPECT_TRUE(found) << found.error().message;
    return found && *found ? **found : "none";
  };
  link::InstalledFile library;
  library.path = "usr/lib/x86_64-linux-gnu/libfftw3.so.3";
  library.digest = fixture.put("library");
  bundle.configurations[0].runtime = {library};
  EXPECT_EQ(file(0, "fftw3"), "libfftw3.so.3");
  EXPECT_EQ(file(1, "fftw3"), "none");
  for (const char* other : {"fftw", "fftw3f", "", "w3", "../fftw3"})
    EXPECT_EQ(file(0, other), "none") << other;
  // An archive that only one configuration links.
  const Digest archive = fixture.put("archive");
  bundle.kit[archive] = {"libz.a", 7, false, ""};
  link::LinkRecord record = bundle.links.at(bundle.configurations[1].installed[0].digest);
  record.items.push_back(
      {link::LinkItem::Kind::input, "", "", {link::FileRef::Kind::kit, archive, "libz.a"}});
  bundle.links[record.digest()] = record;
  bundle.configurations[1].installed[0].digest = record.digest();
  EXPECT_EQ(file(1, "z"), "libz.a");
  EXPECT_EQ(file(0, "z"), "none");
  // A directory, and an inconsistent bundle.
  bundle.configurations[0].runtime[0].kind = link::InstalledFile::Kind::directory;
  EXPECT_EQ(file(0, "fftw3"), "none");
  bundle.links.clear();
  EXPECT_EQ(library_file(bundle, bundle.configurations[0], "z").error().kind, ErrorKind::integrity);
}

TEST(Bundle, NeedsOfAConfiguration) {
  Bundle bundle;
  spec::Value plain{"off", {}, {}}, host{"host", {}, {}};
  host.requires_.cpu = {"avx2"};
  host.requires_.mpi = "mpich-12";
  bundle.points = {{"mpi", "other", "", {plain, host}, {}}};
  EXPECT_EQ(to_annotation(needs_of(bundle, spec::Configuration({{"mpi", "off"}}))), "[]");
  EXPECT_EQ(to_annotation(needs_of(bundle, spec::Configuration({{"mpi", "host"}}))),
            R"([{"point":"mpi","value":"host","requires":{"mpi":"mpich-12"}}])");
}

TEST(Bundle, PreferencesForTheHost) {
  Fixture fixture(1);
  fixture.bundle.host = {{"mpi", {}}, {"fftw3", {"libfftw3.so.3"}}};
  Json json = to_json(fixture.bundle);
  const auto parsed = parse_bundle(json.dump(), "bundle");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->host, fixture.bundle.host);
  json["host"][1]["sonames"][0] = "../../etc/passwd";
  EXPECT_EQ(parse_bundle(json.dump(), "bundle").error().kind, ErrorKind::integrity);
}

TEST(Deployed, WhatIsPreferredOfTheHost) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const auto read_back = [&](const std::string& text) -> Result<std::vector<PreferredOfHost>> {
    oci::NewImage image;
    if (!text.empty())
      image.annotations[annotation::host] = text;
    XAAS_TRY(const oci::Reference reference,
             oci::parse_reference("oci:" + (directory.path() / "a").string()));
    XAAS_TRY([[maybe_unused]] const Digest digest, oci::write_image(reference, image));
    XAAS_TRY(const auto opened, oci::open_image(reference));
    return preferred_of_host(*opened);
  };
  const std::vector<PreferredOfHost> preferred = {{"mpi", "mpich-12", {"libmpich.so.12"}},
                                                  {"fftw3", "", {"libfftw3.so.3", "libfftw3_omp.so.3"}}};
  const std::string text = to_annotation(preferred);
  EXPECT_EQ(text, R"([{"what":"mpi","abi":"mpich-12","sonames":["libmpich.so.12"]},)"
                  R"({"what":"fftw3","sonames":["libfftw3.so.3","libfftw3_omp.so.3"]}])");
  const auto again = read_back(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, preferred);
  EXPECT_TRUE(read_back("")->empty());
  for (const char* damaged : {"[", "{}", R"([{"what":"a"}])", R"([{"what":"a","sonames":[1]}])",
                              R"([{"what":"a","sonames":["a/b"]}])", R"([{"what":"../a","sonames":[]}])",
                              R"([{"what":"a","sonames":[".."]}])"})
    EXPECT_EQ(read_back(damaged).error().kind, ErrorKind::integrity) << damaged;
}

TEST(Bundle, NewerFormatAndNewerLlvmAreRefusedByName) {
  const Fixture fixture(1);
  Json json = to_json(fixture.bundle);
  json["version"] = bundle_format + 1;
  EXPECT_EQ(parse_bundle(json.dump(), "b").error().kind, ErrorKind::unsatisfied);
  json = to_json(fixture.bundle);
  json["llvm"] = "99.1.0";
  const auto refused = parse_bundle(json.dump(), "b");
  EXPECT_EQ(refused.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(refused.error().message, HasSubstr("99.1.0"));
}

TEST(Bundle, PreparedModules) {
  Fixture fixture(1);
  Bundle& bundle = fixture.bundle;
  const Digest unit = bundle.units.begin()->first;
  const Digest module = digest_of("prepared");
  bundle.prepared[unit] = module;
  const auto lost = usage_of(bundle, bundle.configurations.front());
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr(module.to_string()));
  bundle.modules[module] = 8;
  EXPECT_TRUE(usage_of(bundle, bundle.configurations.front())->modules.contains(module));
  const Json json = to_json(bundle);
  const auto parsed = parse_bundle(json.dump(), "b");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->prepared, bundle.prepared);
  EXPECT_EQ(stored_module(*parsed, unit), module);
  for (const Json& damaged : {Json{{"x", "y"}}, Json::array(), Json{{unit.to_string(), "md5:0"}},
                              Json{{digest_of("none").to_string(), module.to_string()}}}) {
    Json changed = json;
    changed["prepared"] = damaged;
    EXPECT_EQ(parse_bundle(changed.dump(), "b").error().kind, ErrorKind::integrity);
  }
}

TEST(Bundle, OlderFormatsAreRead) {
  Json json = to_json(Fixture(1).bundle);
  for (int version = 1; version <= bundle_format; ++version) {
    json["version"] = version;
    EXPECT_TRUE(parse_bundle(json.dump(), "b")) << version;
  }
}

TEST(Bundle, FormatIsTheOldestThatCanExpressIt) {
  Bundle bundle = Fixture(1).bundle;
  EXPECT_EQ(format_of(bundle), 6);
  EXPECT_EQ(to_json(bundle)["version"], 6);
  bundle.modules.clear(); // as of a source image
  EXPECT_EQ(format_of(bundle), 1);
  bundle.base = Base{.digest = digest_of("base")};
  EXPECT_EQ(format_of(bundle), 3);
}

TEST(Bundle, BaseImage) {
  Fixture fixture(1);
  Bundle& bundle = fixture.bundle;
  bundle.base = Base{.digest = digest_of("base"),
                     .reference = "registry.example.org/base:1",
                     .config = {.cmd = {"sh"}, .env = {"A=b"}, .others = {{"User", "u"}}},
                     .directories = {{"usr/local", {02775, 0, 50}}},
                     .libraries = {{"libc.so.6", {"GLIBC_2.2.5"}}}};
  bundle.image.base = "docker://registry.example.org/base@" + bundle.base->digest.to_string();
  const Json json = to_json(bundle);
  const auto parsed = parse_bundle(json.dump(), "b");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(to_json(*parsed), json);
  EXPECT_EQ(parsed->base->directories, bundle.base->directories);
  EXPECT_EQ(path_of(bundle), "/usr/local/bin:/usr/bin:/bin"); // the base sets none
  bundle.base->config.env = {"PATH=/opt/bin:/usr/bin"};
  EXPECT_EQ(path_of(bundle), "/usr/local/bin:/opt/bin:/usr/bin");
  bundle.base->config.env = {"PATH=/usr/bin:/usr/local/bin"};
  EXPECT_EQ(path_of(bundle), "/usr/bin:/usr/local/bin");

  const auto refused = [&](const std::function<void(Json&)>& change) {
    Json changed = json;
    change(changed);
    const auto read = parse_bundle(changed.dump(), "b");
    EXPECT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::integrity);
    return read.error().message;
  };
  EXPECT_THAT(refused([](Json& b) { b.erase("base"); }), HasSubstr("does not describe it"));
  EXPECT_THAT(refused([](Json& b) { b["image"]["base"] = "scratch"; }), HasSubstr("describes a base image"));
  EXPECT_THAT(refused([](Json& b) { b["base"]["digest"] = "x"; }), HasSubstr("/base/digest"));
  EXPECT_THAT(refused([](Json& b) { b["base"]["config"] = {{"Env", 1}}; }), HasSubstr("/base/config/Env"));
  EXPECT_THAT(refused([](Json& b) { b["base"]["libraries"]["x"] = "y"; }), HasSubstr("/base/libraries/x"));
  for (const char* path : {"/usr", "../usr", "usr/../x", "", "usr/"})
    EXPECT_THAT(refused([&](Json& b) {
                  b["base"]["directories"] = {{path, {{"mode", 493}, {"user", 0}, {"group", 0}}}};
                }),
                HasSubstr("/base/directories"));
  EXPECT_THAT(refused([](Json& b) { b["base"]["directories"]["usr/local"]["mode"] = 4096; }),
              HasSubstr("/base/directories/usr/local/mode"));
  EXPECT_THAT(refused([](Json& b) { b["base"]["directories"]["usr/local"]["user"] = -1; }),
              HasSubstr("user"));
}

TEST(ApplicationImage, LayersOfTheBaseBelongToABundleWithOne) {
  const auto directory = *TemporaryDirectory::create();
  Fixture fixture(1);
  oci::LayerBuilder builder;
  ASSERT_TRUE(builder.add_file("etc/release", "base"));
  const std::vector<oci::NewLayer> base = {*builder.finish(oci::Compression::gzip, "the base's history")};
  const auto written = [&](const char* name, const std::vector<oci::NewLayer>& layers) {
    const oci::Reference reference = *oci::parse_reference("oci:" + (directory.path() / name).string());
    const ContentProvider contents = [&](const Digest& digest) -> Result<std::string> {
      return fixture.contents.at(digest);
    };
    auto image = make_application_image(fixture.bundle, contents, 0, most_groups, {}, layers);
    EXPECT_TRUE(image);
    EXPECT_TRUE(oci::write_image(reference, *image));
    return ApplicationImage::open(*oci::open_image(reference));
  };
  EXPECT_THAT(written("a", base).error().message,
              HasSubstr("describes no base image, but it has layers of one"));
  fixture.bundle.base = Base{.digest = digest_of("base")};
  fixture.bundle.image.base = digest_of("base").to_string();
  EXPECT_THAT(written("b", {}).error().message, HasSubstr("of which it has no layer"));
  const auto opened = written("c", base);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->kept_layers("level=0"), std::vector<size_t>{0});
  EXPECT_EQ(opened->image().config().history[0], "the base's history");
  EXPECT_EQ(annotation_of(opened->image(), annotation::base_digest), digest_of("base").to_string());
  const std::vector<oci::NewLayer> again = base_layers(*opened);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].descriptor.digest, base[0].descriptor.digest);
}

TEST(Bundle, EveryTableEntryHasTheDigestThatNamesIt) {
  const Fixture fixture(1);
  for (const char* table : {"options", "units", "links"}) {
    Json json = to_json(fixture.bundle);
    const Json value = json[table].begin().value();
    json[table] = Json{{digest_of("other").to_string(), value}};
    const auto refused = parse_bundle(json.dump(), "b");
    ASSERT_FALSE(refused) << table;
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
    EXPECT_THAT(refused.error().message, HasSubstr(table));
  }
}

TEST(Bundle, UsageNamesWhatIsMissing) {
  Fixture fixture(1);
  fixture.bundle.units.clear();
  const auto usage = usage_of(fixture.bundle, fixture.bundle.configurations[0]);
  ASSERT_FALSE(usage);
  EXPECT_EQ(usage.error().kind, ErrorKind::integrity);
  EXPECT_THAT(usage.error().message, HasSubstr("unit sha256:"));
}

// An installed host unit with a device unit, each with a triple, and the resulting error.
static std::string wrong_with(const std::string& host_triple, const std::string& arch,
                              const std::string& device_triple, bool host_has_libraries = false) {
  testing::Fixture fixture(1);
  const auto add = [&](ir::Unit unit, const std::string& triple) {
    ir::UnitOptions options;
    if (!triple.empty())
      options.text["triple"] = triple;
    unit.options = options.digest();
    unit.module = fixture.bundle.modules.begin()->first;
    fixture.bundle.options[unit.options] = options;
    fixture.bundle.units[unit.id()] = unit;
    return unit.id();
  };
  ir::Unit device, host;
  device.source = host.source = "k.cu";
  host.device[arch] = add(device, device_triple);
  if (host_has_libraries)
    host.libraries = {fixture.bundle.kit.begin()->first};
  link::InstalledFile object;
  object.kind = link::InstalledFile::Kind::unit;
  object.path = "usr/local/lib/k.o";
  object.digest = add(host, host_triple);
  fixture.bundle.configurations[0].installed.push_back(object);
  const Result<Usage> usage = usage_of(fixture.bundle, fixture.bundle.configurations[0]);
  if (usage)
    return "";
  EXPECT_EQ(usage.error().kind, ErrorKind::integrity);
  EXPECT_THAT(usage.error().message, HasSubstr("bundle: unit sha256:"));
  return usage.error().message;
}

TEST(Bundle, UnitsAreForWhatTheyAreCalled) {
  const std::string host = "x86_64-pc-linux-gnu", nvidia = "nvptx64-nvidia-cuda", amd = "amdgcn-amd-amdhsa";
  EXPECT_EQ(wrong_with(host, "sm_90", nvidia), "");
  EXPECT_EQ(wrong_with(host, "gfx90a", amd), "");
  EXPECT_THAT(wrong_with(host, "sm_90", amd), HasSubstr("sm_90, which is nvptx64, and is for \"amdgcn\""));
  EXPECT_THAT(wrong_with(host, "gfx90a", nvidia), HasSubstr("gfx90a, which is amdgcn"));
  EXPECT_THAT(wrong_with(host, "sm_90", "nvptx-nvidia-cuda"), HasSubstr("is for \"nvptx\""));
  EXPECT_THAT(wrong_with(host, "sm_90", ""), HasSubstr("is for \"\""));
  EXPECT_THAT(wrong_with(nvidia, "sm_90", nvidia), HasSubstr("is for nvptx64, and the image for x86_64"));
  EXPECT_THAT(wrong_with(host, "sm_90", nvidia, true), HasSubstr("is for the host but has device libraries"));
}

// An installed file with the device code of one unit.
static Fixture with_device_file(const std::string& arch, const std::string& triple) {
  Fixture fixture(1);
  ir::UnitOptions options;
  options.text["triple"] = triple;
  ir::Unit unit;
  unit.source = "k.cu";
  unit.options = options.digest();
  unit.module = fixture.bundle.modules.begin()->first;
  fixture.bundle.options[unit.options] = options;
  fixture.bundle.units[unit.id()] = unit;
  link::InstalledFile file;
  file.path = "usr/local/share/k.ptx";
  file.digest = fixture.put("the PTX");
  file.device = link::DeviceFile{link::DeviceFile::Form::ptx, {{arch, unit.id()}}};
  fixture.bundle.configurations[0].installed.push_back(file);
  return fixture;
}

TEST(Bundle, FilesWithDeviceCodeSurviveJson) {
  const Fixture fixture = with_device_file("sm_90", "nvptx64-nvidia-cuda");
  const auto parsed = parse_bundle(to_json(fixture.bundle).dump(), "bundle");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto& file = parsed->configurations[0].installed.back();
  EXPECT_EQ(file.device, fixture.bundle.configurations[0].installed.back().device);
  const auto usage = usage_of(*parsed, parsed->configurations[0]);
  ASSERT_TRUE(usage) << usage.error().message;
  EXPECT_EQ(usage->device_units.size(), 1u);
  EXPECT_TRUE(usage->tree.contains(file.digest));
}

TEST(Bundle, DamagedFilesWithDeviceCodeAreRefused) {
  const auto refused = [](const std::function<void(Json&)>& damage) {
    Json json = to_json(with_device_file("sm_90", "nvptx64-nvidia-cuda").bundle);
    damage(json["configurations"][0]["installed"].back());
    const auto parsed = parse_bundle(json.dump(), "bundle");
    EXPECT_FALSE(parsed);
    EXPECT_EQ(parsed.error().kind, ErrorKind::integrity);
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_THAT(refused([](Json& file) { file["device"]["form"] = "elf"; }), HasSubstr("/device/form"));
  EXPECT_THAT(refused([](Json& file) { file["device"]["form"] = "spirv"; }),
              HasSubstr("files of this form have no units"));
  EXPECT_THAT(refused([](Json& file) { file["device"]["units"] = {{"gfx90a", file["digest"]}}; }),
              HasSubstr("gfx90a"));
  EXPECT_THAT(refused([](Json& file) { file["kind"] = "unit"; }), HasSubstr("only a plain file"));
  const Fixture fixture = with_device_file("sm_90", "x86_64-pc-linux-gnu");
  EXPECT_EQ(usage_of(fixture.bundle, fixture.bundle.configurations[0]).error().kind, ErrorKind::integrity);
}

TEST(ApplicationImage, StoresEveryModuleOnceGroupedByItsUsers) {
  const auto directory = *TemporaryDirectory::create();
  const Fixture fixture(3);
  const auto image = fixture.write_and_open(directory.path() / "image");
  ASSERT_TRUE(image) << image.error().message;
  const auto layers = layers_with_role(image->image(), "ir");
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layer_configurations(layers[0]), (std::vector<std::string>{"level=0", "level=1", "level=2"}));
  EXPECT_EQ(layer_configurations(layers[2]), (std::vector<std::string>{"level=2"}));
}

// Images of formats before 6 have modules as they are; in newer ones, those that can be are packed.
TEST(ApplicationImage, ModulesArePacked) {
  const auto directory = *TemporaryDirectory::create();
  Fixture fixture(1);
  const std::string bitcode(
      "BC\xC0\xDE" // an empty block: its id and the width of its fields, its size, its end
      "\x21\x10\0\0\1\0\0\0\0\0\0\0",
      16);
  const Digest module = fixture.put(bitcode);
  fixture.bundle.prepared[fixture.bundle.units.begin()->first] = module;
  fixture.bundle.modules[module] = bitcode.size();
  const std::string file = ".xaas/ir/sha256/" + module.hex();

  // The module, read from an image of a format that stores `content`.
  const auto stored = [&](const std::string& content, const std::string& format = "6") {
    Result<oci::NewImage> made = fixture.make(most_groups);
    EXPECT_TRUE(made) << made.error().message;
    for (oci::NewLayer& layer : made->layers)
      if (layer_role(layer.descriptor) == "ir" && !content.empty()) {
        oci::LayerBuilder builder;
        EXPECT_TRUE(builder.add_file(file, content));
        layer = *builder.finish(oci::Compression::zstd, "modules", layer.descriptor.annotations);
      }
    EXPECT_EQ(made->annotations[annotation::format], "6");
    made->annotations[annotation::format] = format;
    const oci::Reference reference =
        *oci::parse_reference("oci:" + (directory.path() / digest_of(content + format).hex()).string());
    EXPECT_TRUE(oci::write_image(reference, *made));
    const auto image = ApplicationImage::open(*oci::open_image(reference));
    EXPECT_TRUE(image) << image.error().message;
    return fetch(*image, {module}, "level=0");
  };
  const std::string packed = ir::pack(bitcode).value();
  for (const auto& [content, format] : std::vector<std::pair<std::string, std::string>>{
           {"", "6"}, {packed, "6"}, {bitcode, "6"}, {bitcode, "1"}, {bitcode, "5"}}) {
    const auto contents = stored(content, format);
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(*contents, (std::map<Digest, std::string>{{module, bitcode}}));
  }
  const Result<oci::NewImage> made = fixture.make(most_groups);
  for (const oci::NewLayer& layer : made->layers)
    if (layer_role(layer.descriptor) == "ir") {
      oci::LayerBuilder builder;
      ASSERT_TRUE(builder.add_file(file, packed));
      EXPECT_EQ(builder.finish(oci::Compression::zstd, "modules", {})->descriptor.digest,
                layer.descriptor.digest);
    }
  const auto damaged = stored(packed + "x");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, ErrorKind::integrity);
  EXPECT_THAT(damaged.error().message, HasSubstr("/" + file + ": packed bitcode is damaged"));
  const auto another = stored(ir::pack(std::string("BC\xC0\xDE", 4)).value());
  ASSERT_FALSE(another);
  EXPECT_THAT(another.error().message, HasSubstr(module.to_string()));
}

TEST(ApplicationImage, MergesGroupsBeyondTheLimitAndStillFindsEverything) {
  const auto directory = *TemporaryDirectory::create();
  const Fixture fixture(12);
  const auto image = fixture.write_and_open(directory.path() / "image", 4);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(layers_with_role(image->image(), "ir").size(), 4u);
  for (const BundleConfiguration& configuration : image->bundle().configurations) {
    const Usage usage = *usage_of(image->bundle(), configuration);
    const auto contents = fetch(*image, usage.modules, configuration.configuration.id());
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->size(), usage.modules.size());
  }
}

// The bytes of all layers of a role that a configuration reads.
uint64_t bytes_of(const Fixture& fixture, const std::string& role, const std::string& configuration,
                  size_t max_groups) {
  const auto made = fixture.make(max_groups);
  EXPECT_TRUE(made) << made.error().message;
  uint64_t bytes = 0;
  for (const oci::NewLayer& layer : made->layers) {
    const std::vector<std::string> users = layer_configurations(layer.descriptor);
    if (layer_role(layer.descriptor) == role &&
        std::find(users.begin(), users.end(), configuration) != users.end())
      bytes += layer.descriptor.size;
  }
  return bytes;
}

// One large file of one configuration and several small ones of each other configuration: the fewest files
// are not the fewest bytes.
TEST(ApplicationImage, MergesTheGroupsWithTheFewestBytes) {
  std::string noise; // incompressible
  for (int i = 0; noise.size() < 200000; ++i)
    noise += digest_of(std::to_string(i)).hex();
  for (const bool runtime : {false, true}) {
    Fixture fixture(3);
    for (size_t i = 0; i < 3; ++i)
      for (size_t each = 0; each < (i == 0 ? 1 : 4); ++each) {
        link::InstalledFile file;
        file.path = "usr/share/" + std::to_string(i) + "/" + std::to_string(each);
        file.mode = 0644;
        file.digest = fixture.put(i == 0 ? noise : file.path);
        BundleConfiguration& configuration = fixture.bundle.configurations[i];
        (runtime ? configuration.runtime : configuration.installed).push_back(file);
      }
    const std::string role = runtime ? "runtime" : "tree";
    const auto id = [&](size_t i) { return fixture.bundle.configurations[i].configuration.id(); };
    EXPECT_GT(bytes_of(fixture, role, id(0), 2), noise.size() / 3) << role;
    EXPECT_LT(bytes_of(fixture, role, id(1), 2), noise.size() / 3) << role;
    EXPECT_LT(bytes_of(fixture, role, id(2), 2), noise.size() / 3) << role;
  }
}

TEST(ApplicationImage, IsAFunctionOfTheBundle) {
  const Fixture fixture(3);
  EXPECT_EQ(oci::manifest_digest(*fixture.make()), oci::manifest_digest(*fixture.make()));
}

TEST(ApplicationImage, KeepsAKitFileThatOnlyAnotherConfigurationHasInItsClosure) {
  const auto directory = *TemporaryDirectory::create();
  Fixture fixture(2);
  link::InstalledFile loader;
  loader.path = "lib64/crt1.o";
  loader.mode = 0755;
  loader.digest = digest_of("crt1");
  fixture.bundle.configurations[1].runtime.push_back(loader);
  const auto image = fixture.write_and_open(directory.path() / "image");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_TRUE(fetch(*image, {digest_of("crt1")}, "level=0"));
  EXPECT_TRUE(fetch(*image, {digest_of("crt1")}, "level=1"));
}

TEST(ApplicationImage, WhatIsInNoLayerIsAnIntegrityError) {
  const auto directory = *TemporaryDirectory::create();
  const Fixture fixture(1);
  const auto image = fixture.write_and_open(directory.path() / "image");
  ASSERT_TRUE(image);
  const auto missing = fetch(*image, {digest_of("nowhere")}, "level=0");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::integrity);
}

TEST(Time, Rfc3339BothWays) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(*parse_rfc3339(rfc3339(1700000000)), 1700000000);
  EXPECT_FALSE(parse_rfc3339("yesterday"));
}

} // namespace
} // namespace xaas::image

#include <xaas/system/system.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace xaas::system {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

SystemDescription full() {
  SystemDescription system = *any_system("x86_64", "znver3");
  system.cpu.vendor = "AuthenticAMD";
  system.cpu.model = "AMD EPYC 7A53";
  system.cpu.cores = 64;
  system.cpu.threads = 128;
  system.cpu.sockets = 1;
  system.cpu.numa_nodes = 4;
  system.cpu.sve_bits = 512;
  system.cpu.caches = {{1, "data", 32768, 64}, {3, "unified", uint64_t(32) << 20, 8}};
  system.memory_bytes = uint64_t(512) << 30;
  system.gpus = {
      {"amd", "MI250X", "gfx90a", uint64_t(64) << 30, "6.0.3", "6.0", "/sys/class/kfd", "0000:c1:00.0"},
      {"nvidia", "", "", 0, "", "", "", ""}};
  system.mpi = {{"mpich", "8.1.29", "mpich-12", "/opt/cray/pe/lib64", "/opt/cray/pe/lib64/libmpi_gnu.so.12"}};
  system.fabrics = {{"cxi", "", "/dev/cxi0"}};
  system.compilers = {{"gcc", "13.2", "/usr/bin/gcc"}};
  system.libraries = {{"fftw3", "3.3.10", "/usr/lib64", "/usr/lib64/pkgconfig/fftw3.pc"}};
  system.runtimes = {{"podman", "4.3.1", "/usr/bin/podman"}};
  system.glibc = "2.31";
  system.kernel = "5.14.21";
  system.os = "SUSE Linux Enterprise Server 15 SP5";
  system.modules = {"cce/17.0.1", "craype/2.7"};
  system.user_namespaces = true;
  system.fuse = false;
  system.batch_system = "slurm";
  system.batch_job = "77";
  system.batch_partition = "standard-g";
  system.allowed_threads = 14;
  system.allowed_memory_bytes = uint64_t(60) << 30;
  system.module_system = Named{"lmod", "8.7", "/opt/lmod/libexec/lmod", "$LMOD_CMD"};
  system.evidence = {{"batch.job", "$SLURM_JOB_ID"}, {"glibc", "/lib64/libc.so.6"}};
  system.notes = {"/apps was left out: no answer within 3 s"};
  return system;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items())
    names.push_back(key);
  return names;
}

Json minimal() {
  return Json{{"version", 1}, {"arch", "x86_64"}, {"cpu", {{"features", {"avx2", "sse2"}}}}};
}

TEST(SystemJson, RoundTrip) {
  for (const SystemDescription& system :
       {full(), *any_system("aarch64", "neoverse-v2"), *any_system("x86_64", "x86-64")}) {
    const Result<SystemDescription> again = parse_system(to_json(system), "node.json");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, system);
    EXPECT_EQ(to_json(*again).dump(), to_json(system).dump());
  }
}

TEST(SystemJson, HasTheKeysOfTheSchema) {
  const Json schema = *read_json(fs::path(XAAS_SPECS) / "schema/system.schema.json");
  const Json& types = schema["definitions"];
  const Json json = to_json(full());
  EXPECT_EQ(keys(json), keys(schema["properties"]));
  EXPECT_EQ(keys(json["cpu"]), keys(types["cpu"]["properties"]));
  EXPECT_EQ(keys(json["cpu"]["caches"][0]),
            keys(types["cpu"]["properties"]["caches"]["items"]["properties"]));
  EXPECT_EQ(keys(json["gpus"][0]), keys(types["gpu"]["properties"]));
  EXPECT_EQ(keys(json["mpi"][0]), keys(types["mpi"]["properties"]));
  EXPECT_EQ(keys(json["libraries"][0]), keys(types["named"]["properties"]));
  EXPECT_EQ(keys(json["containers"]), keys(schema["properties"]["containers"]["properties"]));
  EXPECT_EQ(keys(json["batch"]), keys(schema["properties"]["batch"]["properties"]));
  EXPECT_EQ(keys(json["allowed"]), keys(schema["properties"]["allowed"]["properties"]));
  EXPECT_EQ(keys(json["module_system"]), keys(types["named"]["properties"]));
  EXPECT_EQ(json["version"], schema["properties"]["version"]["const"]);

  Probes nothing;
  nothing.root = "/nonexistent";
  nothing.path = {"/nonexistent"};
  nothing.environment = {{"HOME", "/"}};
  const Json detected = to_json(detect(nothing));
  EXPECT_EQ(keys(detected), keys(json));
  EXPECT_TRUE(detected["glibc"].is_null());
  EXPECT_TRUE(detected["batch"].is_null());
  EXPECT_TRUE(detected["cpu"]["vendor"].is_null());
  EXPECT_TRUE(detected["containers"]["fuse"].is_null());
  EXPECT_EQ(detected["gpus"], Json::array());
}

TEST(SystemJson, LittleIsNeeded) {
  Json json = minimal();
  const Result<SystemDescription> system = parse_system(json, "node.json");
  ASSERT_TRUE(system) << system.error().message;
  EXPECT_EQ(system->cpu.name, "generic");
  EXPECT_EQ(system->cpu.level, "x86-64");
  EXPECT_EQ(system->user_namespaces, std::nullopt);
  json["gpus"] = nullptr;
  json["comment"] = "kept out";
  EXPECT_EQ(*parse_system(json, "node.json"), *system);
}

TEST(SystemJson, FeaturesDecideTheLevel) {
  Json json = to_json(full());
  // One feature of v3 is hidden: the level follows.
  auto& features = json["cpu"]["features"];
  features.erase(std::find(features.begin(), features.end(), "movbe"));
  EXPECT_EQ(parse_system(json, "n")->cpu.level, "x86-64-v2");
  json["cpu"].erase("level");
  EXPECT_EQ(parse_system(json, "n")->cpu.level, "x86-64-v2");
  json["cpu"]["level"] = "x86-64"; // a lower one stays
  EXPECT_EQ(parse_system(json, "n")->cpu.level, "x86-64");
  json["cpu"]["features"] = *target::features_of("x86_64", "x86-64-v3");
  json["cpu"]["features"].push_back("avx512f");
  json["cpu"]["level"] = "x86-64-v4";
  EXPECT_EQ(parse_system(json, "n")->cpu.level, "x86-64-v3");
}

TEST(SystemJson, AbbreviatedFeaturesAreCompleted) {
  Json json = minimal();
  json["cpu"]["features"] = {"fma", "avx2", "fma"};
  const SystemDescription plain = *parse_system(json, "n");
  EXPECT_THAT(plain.cpu.features, testing::IsSupersetOf({"avx", "avx2", "fma", "sse2", "sse4.2"}));
  EXPECT_EQ(plain.cpu.level, "x86-64");
  EXPECT_TRUE(std::ranges::is_sorted(plain.cpu.features));
  json["cpu"]["level"] = "x86-64-v3";
  const SystemDescription leveled = *parse_system(json, "n");
  EXPECT_EQ(leveled.cpu.level, "x86-64-v3");
  EXPECT_THAT(leveled.cpu.features, Contains("bmi2"));
}

TEST(SystemJson, WrongInputNamesThePlace) {
  const std::vector<std::pair<Json, std::string>> changes = {
      {{{"arch", "vax"}}, "/arch"},
      {{{"arch", 3}}, "/arch"},
      {{{"version", "1"}}, "/version"},
      {{{"cpu", nullptr}}, "/cpu"},
      {{{"cpu", Json::array()}}, "/cpu"},
      {{{"cpu", {{"name", "znver3"}}}}, "/cpu/features: missing"},
      {{{"cpu", {{"features", "avx2"}}}}, "/cpu/features"},
      {{{"cpu", {{"features", {"sse2", 7}}}}}, "/cpu/features/1"},
      {{{"cpu", {{"features", {"sse2", "avx2,-sse2"}}}}}, "/cpu/features/1"},
      {{{"cpu", {{"features", {""}}}}}, "/cpu/features/0"},
      {{{"cpu", {{"features", {"sse2"}}, {"level", "x86-64-v9"}}}}, "/cpu/level"},
      {{{"cpu", {{"features", {"sse2"}}, {"level", 3}}}}, "/cpu/level"},
      {{{"cpu", {{"features", {"sse2"}}, {"cores", -1}}}}, "/cpu/cores"},
      {{{"cpu", {{"features", {"sse2"}}, {"cores", 4294967296}}}}, "/cpu/cores"},
      {{{"cpu", {{"features", {"sse2"}}, {"caches", {1}}}}}, "/cpu/caches/0"},
      {{{"memory_bytes", "512 GB"}}, "/memory_bytes"},
      {{{"memory_bytes", 1.5}}, "/memory_bytes"},
      {{{"gpus", Json::object()}}, "/gpus"},
      {{{"gpus", Json::array({{{"vendor", "nvidia"}, {"arch", 90}}})}}, "/gpus/0/arch"},
      {{{"gpus", Json::array({Json::object()})}}, "/gpus/0/vendor: missing"},
      {{{"mpi", Json::array({"mpich"})}}, "/mpi/0"},
      {{{"libraries", Json::array({{{"name", nullptr}}})}}, "/libraries/0/name"},
      {{{"modules", {1}}}, "/modules/0"},
      {{{"glibc", 2.36}}, "/glibc"},
      {{{"containers", {{"fuse", "yes"}}}}, "/containers/fuse"},
      {{{"containers", true}}, "/containers"},
      {{{"allowed", 2}}, "/allowed"},
      {{{"allowed", {{"threads", -2}}}}, "/allowed/threads"},
      {{{"module_system", {{"version", "8"}}}}, "/module_system/name"},
      {{{"evidence", {{"glibc", 2}}}}, "/evidence/glibc"},
      {{{"evidence", "all"}}, "/evidence"},
      {{{"notes", "none"}}, "/notes"},
      {{{"batch", "slurm"}}, "/batch"},
      {{{"batch", {{"job", "1"}}}}, "/batch/system: missing"}};
  for (const auto& [change, place] : changes) {
    Json json = minimal();
    json.update(change);
    const Result<SystemDescription> system = parse_system(json, "node.json");
    ASSERT_FALSE(system) << change.dump();
    EXPECT_EQ(system.error().kind, ErrorKind::usage) << change.dump();
    EXPECT_THAT(system.error().message, HasSubstr("node.json#" + place)) << change.dump();
  }
  for (const Json& whole : {Json(nullptr), Json::array(), Json("x86_64"), Json::object()})
    EXPECT_EQ(parse_system(whole, "n").error().kind, ErrorKind::usage);
}

TEST(SystemJson, KernelSpellingsOfFeaturesGetAHint) {
  for (const auto& [written, meant] : std::map<std::string, std::string>{
           {"sse4_1", "sse4.1"}, {"AVX2", "avx2"}, {"avx512_vnni", "avx512vnni"}, {"amx_tile", "amx-tile"}}) {
    Json json = minimal();
    json["cpu"]["features"].push_back(written);
    const Result<SystemDescription> system = parse_system(json, "n");
    ASSERT_FALSE(system) << written;
    EXPECT_THAT(system.error().hint, HasSubstr(meant));
  }
}

TEST(SystemJson, NewerVersionIsUnsatisfied) {
  for (const int version : {2, 0, -1}) {
    Json json = minimal();
    json["version"] = version;
    EXPECT_EQ(parse_system(json, "n").error().kind, ErrorKind::unsatisfied) << version;
  }
}

TEST(SystemJson, ReadNamesTheFile) {
  auto directory = *TemporaryDirectory::create();
  const fs::path path = directory.path() / "node.json";
  EXPECT_EQ(read_system(path).error().kind, ErrorKind::not_found);
  ASSERT_TRUE(write_file(path, "{\"version\": 1"));
  EXPECT_EQ(read_system(path).error().kind, ErrorKind::usage);
  EXPECT_THAT(read_system(path).error().message, HasSubstr(path.string()));
  ASSERT_TRUE(write_file(path, to_json(full()).dump()));
  EXPECT_EQ(*read_system(path), full());
}

TEST(System, WithCpuReplacesOnlyTheCpu) {
  SystemDescription real = full();
  real.evidence["cpu.features"] = "cpuid";
  const SystemDescription other = *with_cpu(real, "x86-64-v2");
  EXPECT_EQ(other.evidence, full().evidence);
  EXPECT_EQ(other.cpu.vendor + other.cpu.model, "");
  EXPECT_EQ(other.cpu.name, "x86-64-v2");
  EXPECT_EQ(other.cpu.level, "x86-64-v2");
  EXPECT_EQ(other.cpu.features, *target::features_of("x86_64", "x86-64-v2"));
  EXPECT_EQ(other.cpu.cores, 64u);
  EXPECT_EQ(other.gpus, full().gpus);
  EXPECT_EQ(with_cpu(full(), "znver33").error().kind, ErrorKind::usage);
  EXPECT_EQ(with_cpu(full(), "neoverse-v2").error().kind, ErrorKind::usage);
  EXPECT_EQ(any_system("aarch64", "neoverse-v2")->cpu.level, "armv9-a");
  EXPECT_FALSE(any_system("vax", "780"));
}

TEST(System, TargetCpuTakesWhatLlvmCanUse) {
  EXPECT_EQ(target_cpu(full()), *target::cpu_by_name("x86_64", "znver3"));
  Json json = to_json(*any_system("x86_64", "skylake-avx512"));
  json["cpu"]["name"] = "someday";
  auto& features = json["cpu"]["features"];
  features.push_back("future");
  features.erase(std::find(features.begin(), features.end(), "avx2"));
  const target::Cpu cpu = target_cpu(*parse_system(json, "n"));
  EXPECT_EQ(cpu.name, "generic");
  for (const char* absent : {"future", "avx2", "avx512f"})
    EXPECT_THAT(cpu.features, Not(Contains(absent)));
  EXPECT_THAT(cpu.features, Contains("avx"));
}

} // namespace
} // namespace xaas::system

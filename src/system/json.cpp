// The system description as JSON. specs/schema/system.schema.json documents it.
#include <xaas/system/system.h>

#include <xaas/base/text.h>

#include <algorithm>
#include <limits>

namespace xaas::system {
namespace {

constexpr int64_t format_version = 1;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}
Json flag_or_null(const std::optional<bool>& flag) {
  return flag ? Json(*flag) : Json(nullptr);
}

Json cpu_json(const CpuDescription& cpu) {
  Json caches = Json::array();
  for (const CpuDescription::Cache& cache : cpu.caches)
    caches.push_back({{"level", cache.level},
                      {"type", cache.type},
                      {"bytes", cache.bytes},
                      {"instances", cache.instances}});
  return {{"vendor", text_or_null(cpu.vendor)},
          {"model", text_or_null(cpu.model)},
          {"name", cpu.name},
          {"level", cpu.level},
          {"features", cpu.features},
          {"cores", cpu.cores},
          {"threads", cpu.threads},
          {"sockets", cpu.sockets},
          {"numa_nodes", cpu.numa_nodes},
          {"sve_bits", cpu.sve_bits},
          {"caches", caches}};
}

Json gpus_json(const std::vector<Gpu>& gpus) {
  Json list = Json::array();
  for (const Gpu& gpu : gpus)
    list.push_back({{"vendor", gpu.vendor},
                    {"model", text_or_null(gpu.model)},
                    {"arch", text_or_null(gpu.arch)},
                    {"memory_bytes", gpu.memory_bytes},
                    {"driver", text_or_null(gpu.driver)},
                    {"runtime", text_or_null(gpu.runtime)},
                    {"evidence", text_or_null(gpu.evidence)},
                    {"pci", text_or_null(gpu.pci)}});
  return list;
}

Json mpi_json(const std::vector<Mpi>& libraries) {
  Json list = Json::array();
  for (const Mpi& mpi : libraries)
    list.push_back({{"implementation", mpi.implementation},
                    {"version", text_or_null(mpi.version)},
                    {"abi", text_or_null(mpi.abi)},
                    {"libdir", text_or_null(mpi.libdir)},
                    {"evidence", text_or_null(mpi.evidence)}});
  return list;
}

Json named_json(const Named& entry) {
  return {{"name", entry.name},
          {"version", text_or_null(entry.version)},
          {"path", text_or_null(entry.path)},
          {"evidence", text_or_null(entry.evidence)}};
}

Json named_json(const std::vector<Named>& entries) {
  Json list = Json::array();
  for (const Named& entry : entries)
    list.push_back(named_json(entry));
  return list;
}

Json batch_json(const SystemDescription& description) {
  if (description.batch_system.empty())
    return nullptr;
  return {{"system", description.batch_system},
          {"job", text_or_null(description.batch_job)},
          {"partition", text_or_null(description.batch_partition)}};
}

// Reading. Missing and null members are empty.

Result<std::string> text(const JsonReader& reader, const std::string& key) {
  const std::optional<JsonReader> value = reader.find(key);
  return value ? value->string() : Result<std::string>(std::string());
}

Result<uint64_t> number(const JsonReader& reader, const std::string& key,
                        uint64_t most = std::numeric_limits<int64_t>::max()) {
  const std::optional<JsonReader> value = reader.find(key);
  if (!value)
    return uint64_t(0);
  XAAS_TRY(const uint64_t result, value->size());
  if (result > most)
    return make_error(ErrorKind::usage, value->where() + ": " + std::to_string(result) +
                                            " is more than the " + std::to_string(most) + " allowed");
  return result;
}

Result<unsigned> small_number(const JsonReader& reader, const std::string& key) {
  XAAS_TRY(const uint64_t value, number(reader, key, std::numeric_limits<uint32_t>::max()));
  return static_cast<unsigned>(value);
}

Result<std::optional<bool>> flag(const JsonReader& reader, const std::string& key) {
  const std::optional<JsonReader> value = reader.find(key);
  if (!value)
    return std::optional<bool>();
  XAAS_TRY(const bool result, value->boolean());
  return std::optional<bool>(result);
}

Result<std::vector<std::string>> texts(const JsonReader& reader, const std::string& key) {
  const std::optional<JsonReader> value = reader.find(key);
  return value ? value->strings() : Result<std::vector<std::string>>(std::vector<std::string>());
}

// The objects in the array `key`, each read by `parse`.
template <typename T>
Result<std::vector<T>> objects(const JsonReader& reader, const std::string& key,
                               Result<T> (*parse)(const JsonReader&)) {
  std::vector<T> result;
  const std::optional<JsonReader> array = reader.find(key);
  if (!array)
    return result;
  XAAS_TRY(const std::vector<JsonReader> items, array->items());
  for (const JsonReader& item : items) {
    if (!item.json().is_object())
      return item.wrong("an object");
    XAAS_TRY(T value, parse(item));
    result.push_back(std::move(value));
  }
  return result;
}

Result<CpuDescription::Cache> parse_cache(const JsonReader& reader) {
  CpuDescription::Cache cache;
  XAAS_TRY(cache.level, small_number(reader, "level"));
  XAAS_TRY(cache.type, text(reader, "type"));
  XAAS_TRY(cache.bytes, number(reader, "bytes"));
  XAAS_TRY(cache.instances, small_number(reader, "instances"));
  return cache;
}

Result<Gpu> parse_gpu(const JsonReader& reader) {
  Gpu gpu;
  XAAS_TRY(gpu.vendor, reader.string_at("vendor"));
  XAAS_TRY(gpu.model, text(reader, "model"));
  XAAS_TRY(gpu.arch, text(reader, "arch"));
  XAAS_TRY(gpu.memory_bytes, number(reader, "memory_bytes"));
  XAAS_TRY(gpu.driver, text(reader, "driver"));
  XAAS_TRY(gpu.runtime, text(reader, "runtime"));
  XAAS_TRY(gpu.evidence, text(reader, "evidence"));
  XAAS_TRY(gpu.pci, text(reader, "pci"));
  return gpu;
}

Result<Mpi> parse_mpi(const JsonReader& reader) {
  Mpi mpi;
  XAAS_TRY(mpi.implementation, reader.string_at("implementation"));
  XAAS_TRY(mpi.version, text(reader, "version"));
  XAAS_TRY(mpi.abi, text(reader, "abi"));
  XAAS_TRY(mpi.libdir, text(reader, "libdir"));
  XAAS_TRY(mpi.evidence, text(reader, "evidence"));
  return mpi;
}

Result<Named> parse_named(const JsonReader& reader) {
  Named entry;
  XAAS_TRY(entry.name, reader.string_at("name"));
  XAAS_TRY(entry.version, text(reader, "version"));
  XAAS_TRY(entry.path, text(reader, "path"));
  XAAS_TRY(entry.evidence, text(reader, "evidence"));
  return entry;
}

// A possible feature name of LLVM's back end. Keeps a name unknown to this LLVM, because a newer tool may
// have written it. A kernel's spelling of a known one ("sse4_1") is an error, because it would lose the
// feature.
Result<void> check_feature(const JsonReader& reader, const std::string& arch, const std::string& name) {
  const std::string allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (name.empty() || name.find_first_not_of(allowed) != std::string::npos)
    return make_error(ErrorKind::usage, reader.where() + ": \"" + name + "\" is not a feature name");
  if (target::is_feature(arch, name))
    return {};
  for (const char* separator : {".", "-", ""}) {
    std::string spelling;
    for (const char c : name)
      if (c == '_')
        spelling += separator;
      else
        spelling += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (target::is_feature(arch, spelling))
      return make_error(ErrorKind::usage, reader.where() + ": unknown feature \"" + name + "\"",
                        "LLVM's name for it is " + spelling);
  }
  return {};
}

Result<std::vector<std::string>> parse_features(const JsonReader& reader, const std::string& arch) {
  XAAS_TRY(const JsonReader array, reader.at("features"));
  XAAS_TRY(const std::vector<JsonReader> items, array.items());
  std::vector<std::string> features;
  for (const JsonReader& item : items) {
    XAAS_TRY(std::string name, item.string());
    XAAS_CHECK(check_feature(item, arch, name));
    features.push_back(std::move(name));
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

// Completes abbreviated level and features; see parse_system().
Result<void> settle_level(const JsonReader& reader, const std::string& arch, CpuDescription& cpu) {
  const std::vector<std::string> levels = target::isa_levels(arch);
  XAAS_TRY(const std::string given, text(reader, "level"));
  const auto rank = [&](const std::string& level) { return std::find(levels.begin(), levels.end(), level); };
  if (!given.empty() && rank(given) == levels.end())
    return make_error(ErrorKind::usage, reader.where() + "/level: unknown ISA level \"" + given + "\"",
                      "known are " + join(levels, ", "));
  XAAS_TRY(const std::vector<std::string> basic, target::features_of(arch, levels.front()));
  if (!target::missing_features(basic, cpu.features).empty()) {
    std::vector<std::string> features = cpu.features;
    if (!given.empty()) {
      XAAS_TRY(const std::vector<std::string> more, target::features_of(arch, given));
      features.insert(features.end(), more.begin(), more.end());
    }
    cpu.features = target::with_implied(arch, features);
  }
  cpu.level = target::isa_level(arch, cpu.features);
  if (!given.empty() && rank(given) < rank(cpu.level))
    cpu.level = given;
  return {};
}

Result<CpuDescription> parse_cpu(const JsonReader& reader, const std::string& arch) {
  CpuDescription cpu;
  XAAS_TRY(cpu.vendor, text(reader, "vendor"));
  XAAS_TRY(cpu.model, text(reader, "model"));
  XAAS_TRY(cpu.name, text(reader, "name"));
  if (cpu.name.empty())
    cpu.name = "generic";
  XAAS_TRY(cpu.features, parse_features(reader, arch));
  XAAS_CHECK(settle_level(reader, arch, cpu));
  XAAS_TRY(cpu.cores, small_number(reader, "cores"));
  XAAS_TRY(cpu.threads, small_number(reader, "threads"));
  XAAS_TRY(cpu.sockets, small_number(reader, "sockets"));
  XAAS_TRY(cpu.numa_nodes, small_number(reader, "numa_nodes"));
  XAAS_TRY(cpu.sve_bits, small_number(reader, "sve_bits"));
  XAAS_TRY(cpu.caches, objects(reader, "caches", parse_cache));
  return cpu;
}

Result<void> parse_lists(const JsonReader& reader, SystemDescription& description) {
  XAAS_TRY(description.gpus, objects(reader, "gpus", parse_gpu));
  XAAS_TRY(description.mpi, objects(reader, "mpi", parse_mpi));
  XAAS_TRY(description.fabrics, objects(reader, "fabrics", parse_named));
  XAAS_TRY(description.compilers, objects(reader, "compilers", parse_named));
  XAAS_TRY(description.libraries, objects(reader, "libraries", parse_named));
  XAAS_TRY(description.runtimes, objects(reader, "runtimes", parse_named));
  XAAS_TRY(description.modules, texts(reader, "modules"));
  XAAS_TRY(description.notes, texts(reader, "notes"));
  return {};
}

// The member `key`, which must be an object if present.
Result<std::optional<JsonReader>> object(const JsonReader& reader, const std::string& key) {
  std::optional<JsonReader> found = reader.find(key);
  if (found && !found->json().is_object())
    return found->wrong("an object");
  return found;
}

Result<void> parse_objects(const JsonReader& reader, SystemDescription& description) {
  XAAS_TRY(const std::optional<JsonReader> containers, object(reader, "containers"));
  if (containers) {
    XAAS_TRY(description.user_namespaces, flag(*containers, "user_namespaces"));
    XAAS_TRY(description.fuse, flag(*containers, "fuse"));
    XAAS_TRY(description.setuid, flag(*containers, "setuid"));
  }
  XAAS_TRY(const std::optional<JsonReader> batch, object(reader, "batch"));
  if (batch) {
    XAAS_TRY(description.batch_system, batch->string_at("system"));
    XAAS_TRY(description.batch_job, text(*batch, "job"));
    XAAS_TRY(description.batch_partition, text(*batch, "partition"));
  }
  XAAS_TRY(const std::optional<JsonReader> allowed, object(reader, "allowed"));
  if (allowed) {
    XAAS_TRY(description.allowed_threads, small_number(*allowed, "threads"));
    XAAS_TRY(description.allowed_memory_bytes, number(*allowed, "memory_bytes"));
  }
  XAAS_TRY(const std::optional<JsonReader> modules, object(reader, "module_system"));
  if (modules) {
    XAAS_TRY(description.module_system, parse_named(*modules));
  }
  XAAS_TRY(const std::optional<JsonReader> evidence, object(reader, "evidence"));
  if (evidence)
    for (const auto& [key, value] : evidence->json().items()) {
      XAAS_TRY(description.evidence[key], evidence->string_at(key));
    }
  return {};
}

} // namespace

Json to_json(const SystemDescription& description) {
  return {
      {"version", format_version},
      {"arch", description.arch},
      {"cpu", cpu_json(description.cpu)},
      {"memory_bytes", description.memory_bytes},
      {"gpus", gpus_json(description.gpus)},
      {"mpi", mpi_json(description.mpi)},
      {"fabrics", named_json(description.fabrics)},
      {"compilers", named_json(description.compilers)},
      {"libraries", named_json(description.libraries)},
      {"glibc", text_or_null(description.glibc)},
      {"kernel", text_or_null(description.kernel)},
      {"os", text_or_null(description.os)},
      {"modules", description.modules},
      {"runtimes", named_json(description.runtimes)},
      {"containers",
       {{"user_namespaces", flag_or_null(description.user_namespaces)},
        {"fuse", flag_or_null(description.fuse)},
        {"setuid", flag_or_null(description.setuid)}}},
      {"batch", batch_json(description)},
      {"allowed",
       {{"threads", description.allowed_threads}, {"memory_bytes", description.allowed_memory_bytes}}},
      {"module_system", description.module_system ? named_json(*description.module_system) : Json(nullptr)},
      {"evidence", Json(description.evidence)},
      {"notes", description.notes}};
}

Result<SystemDescription> parse_system(const Json& json, const std::string& name) {
  const JsonReader reader(json, name + "#", ErrorKind::usage);
  XAAS_TRY(const JsonReader version_reader, reader.at("version"));
  XAAS_TRY(const int64_t found, version_reader.integer());
  if (found != format_version)
    return make_error(ErrorKind::unsatisfied,
                      version_reader.where() + ": system description of version " + std::to_string(found) +
                          ", known is " + std::to_string(format_version),
                      "describe the machine again with this program's `detect`");
  SystemDescription description;
  XAAS_TRY(description.arch, reader.string_at("arch"));
  const std::string& arch = description.arch;
  if (target::isa_levels(arch).empty())
    return make_error(ErrorKind::usage, reader.where() + "/arch: unknown architecture \"" + arch + "\"",
                      "known are x86_64 and aarch64");
  XAAS_TRY(const JsonReader cpu, reader.at("cpu"));
  XAAS_TRY(description.cpu, parse_cpu(cpu, arch));
  XAAS_TRY(description.memory_bytes, number(reader, "memory_bytes"));
  XAAS_CHECK(parse_lists(reader, description));
  XAAS_TRY(description.glibc, text(reader, "glibc"));
  XAAS_TRY(description.kernel, text(reader, "kernel"));
  XAAS_TRY(description.os, text(reader, "os"));
  XAAS_CHECK(parse_objects(reader, description));
  return description;
}

Result<SystemDescription> read_system(const fs::path& path) {
  XAAS_TRY(const Json json, read_json(path));
  return parse_system(json, path.string());
}

} // namespace xaas::system

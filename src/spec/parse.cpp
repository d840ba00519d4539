#include "check.h"
#include "schema.h"

#include <xaas/base/text.h>
#include <xaas/spec/application.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace xaas::spec {
namespace {

using Assignment = std::map<std::string, std::string>;

Result<Assignment> assignment_at(const JsonReader& reader, const std::string& key) {
  if (!reader.has(key))
    return Assignment{};
  XAAS_TRY(const JsonReader object, reader.at(key));
  return object.string_map();
}

Result<std::vector<std::string>> strings_at(const JsonReader& reader, const std::string& key) {
  if (!reader.has(key))
    return std::vector<std::string>{};
  XAAS_TRY(const JsonReader array, reader.at(key));
  return array.strings();
}

Result<std::vector<JsonReader>> items_at(const JsonReader& reader, const std::string& key) {
  if (!reader.has(key))
    return std::vector<JsonReader>{};
  XAAS_TRY(const JsonReader array, reader.at(key));
  return array.items();
}

Result<std::vector<Assignment>> assignments_at(const JsonReader& reader, const std::string& key) {
  std::vector<Assignment> all;
  XAAS_TRY(const std::vector<JsonReader> items, items_at(reader, key));
  for (const JsonReader& item : items) {
    XAAS_TRY(Assignment values, item.string_map());
    all.push_back(std::move(values));
  }
  return all;
}

Result<Requirement::From> parse_from(const JsonReader& library) {
  XAAS_TRY(const std::string text, library.string_or("from", "host"));
  if (text == "host")
    return Requirement::From::host;
  if (text == "image")
    return Requirement::From::image;
  XAAS_TRY(const JsonReader from, library.at("from"));
  return from.wrong("host or image");
}

Result<Value> parse_value(const JsonReader& reader) {
  Value value;
  XAAS_TRY(value.value, reader.string_at("value"));
  XAAS_TRY(value.arguments, strings_at(reader, "arguments"));
  if (reader.has("requires")) {
    XAAS_TRY(const JsonReader required, reader.at("requires"));
    XAAS_TRY(value.requires_, parse_requirement(required));
  }
  XAAS_TRY(value.from_source, reader.boolean_or("from_source", false));
  return value;
}

Result<BuildSystem> parse_build_system(const JsonReader& reader) {
  XAAS_TRY(const std::string name, reader.string());
  for (const BuildSystem system : {BuildSystem::cmake, BuildSystem::autotools, BuildSystem::make,
                                   BuildSystem::meson, BuildSystem::commands})
    if (to_string(system) == name)
      return system;
  return reader.wrong("the name of a build system");
}

Result<Build> parse_build(const JsonReader& reader) {
  Build build;
  XAAS_TRY(const JsonReader system, reader.at("system"));
  XAAS_TRY(build.system, parse_build_system(system));
  XAAS_TRY(build.directory, reader.string_or("directory", ""));
  XAAS_TRY(build.arguments, strings_at(reader, "arguments"));
  XAAS_TRY(build.environment, assignment_at(reader, "environment"));
  XAAS_TRY(build.targets, strings_at(reader, "targets"));
  XAAS_TRY(build.copy, reader.boolean_or("copy", false));
  XAAS_TRY(build.configure_command, reader.string_or("configure", ""));
  XAAS_TRY(build.build_command, reader.string_or("build", ""));
  if (!reader.has("install"))
    return build;
  XAAS_TRY(const JsonReader install, reader.at("install"));
  if (install.json().is_string()) {
    build.install_command = install.json().get<std::string>();
    return build;
  }
  XAAS_TRY(const std::vector<JsonReader> files, install.items());
  for (const JsonReader& json : files) {
    if (json.json() == "target") {
      build.install_target = true;
      continue;
    }
    InstallFile file;
    XAAS_TRY(file.from, json.string_at("from"));
    XAAS_TRY(file.to, json.string_at("to"));
    build.install.push_back(std::move(file));
  }
  return build;
}

Result<Image> parse_image(const JsonReader& reader) {
  Image image;
  XAAS_TRY(image.base, reader.string_or("base", image.base));
  XAAS_TRY(image.prefix, reader.string_or("prefix", image.prefix));
  XAAS_TRY(image.entrypoint, strings_at(reader, "entrypoint"));
  XAAS_TRY(image.env, assignment_at(reader, "env"));
  return image;
}

Result<Toolchain> parse_toolchain(const JsonReader& reader) {
  Toolchain toolchain;
  XAAS_TRY(toolchain.base, reader.string_or("base", ""));
  XAAS_TRY(toolchain.packages, strings_at(reader, "packages"));
  XAAS_TRY(toolchain.suite, reader.string_or("suite", ""));
  XAAS_TRY(toolchain.path, reader.string_or("path", ""));
  if (reader.has("compilers")) {
    XAAS_TRY(const JsonReader compilers, reader.at("compilers"));
    XAAS_TRY(toolchain.c, compilers.string_or("c", ""));
    XAAS_TRY(toolchain.cxx, compilers.string_or("cxx", ""));
    XAAS_TRY(toolchain.fortran, compilers.string_or("fortran", ""));
  }
  return toolchain;
}

Result<std::vector<Download>> parse_downloads(const std::vector<JsonReader>& items) {
  std::vector<Download> downloads;
  for (const JsonReader& json : items) {
    Download download;
    XAAS_TRY(download.url, json.string_at("url"));
    XAAS_TRY(download.sha256, json.string_at("sha256"));
    XAAS_TRY(download.to, json.string_at("to"));
    XAAS_TRY(download.unpack, json.boolean_or("unpack", false));
    downloads.push_back(std::move(download));
  }
  return downloads;
}

Result<Application> read_document(const JsonReader& reader) {
  Application application;
  XAAS_TRY(application.name, reader.string_at("name"));
  XAAS_TRY(application.version, reader.string_or("version", application.version));
  XAAS_TRY(application.license, reader.string_or("license", ""));
  XAAS_TRY(application.source, reader.string_or("source", ""));
  XAAS_TRY(application.revision, reader.string_or("revision", ""));
  XAAS_TRY(const JsonReader build, reader.at("build"));
  XAAS_TRY(application.build, parse_build(build));
  XAAS_TRY(const std::vector<JsonReader> points, items_at(reader, "specializations"));
  for (const JsonReader& json : points) {
    XAAS_TRY(SpecializationPoint point, parse_point(json));
    application.points.push_back(std::move(point));
  }
  if (reader.has("isa")) {
    XAAS_TRY(application.isa, strings_at(reader, "isa"));
  }
  XAAS_TRY(const std::string form, reader.string_or("ir", "prepared"));
  application.prepared = form == "prepared";
  XAAS_TRY(application.gpu, strings_at(reader, "gpu"));
  XAAS_TRY(application.exclude, assignments_at(reader, "exclude"));
  XAAS_TRY(application.configurations, assignments_at(reader, "configurations"));
  XAAS_TRY(application.runtime, strings_at(reader, "runtime"));
  if (reader.has("image")) {
    XAAS_TRY(const JsonReader image, reader.at("image"));
    XAAS_TRY(application.image, parse_image(image));
  }
  if (reader.has("toolchain")) {
    XAAS_TRY(const JsonReader toolchain, reader.at("toolchain"));
    XAAS_TRY(application.toolchain, parse_toolchain(toolchain));
  }
  XAAS_TRY(application.include, strings_at(reader, "include"));
  XAAS_TRY(const std::vector<JsonReader> downloads, items_at(reader, "fetch"));
  XAAS_TRY(application.fetch, parse_downloads(downloads));
  XAAS_TRY(const std::vector<JsonReader> preferences, items_at(reader, "host"));
  for (const JsonReader& json : preferences) {
    XAAS_TRY(HostPreference preference, parse_host_preference(json));
    application.host.push_back(std::move(preference));
  }
  return application;
}

// An error of the kind of `reader`, at a place below it.
Error wrong_at(const JsonReader& reader, const std::string& place, const std::string& message,
               std::string hint = {}) {
  Error error = reader.wrong("");
  error.message = reader.where() + place + ": " + message;
  error.hint = std::move(hint);
  return error;
}

Result<void> check_values(const SpecializationPoint& point, const JsonReader& reader) {
  if (point.values.empty())
    return wrong_at(reader, "/values", "point " + point.name + " has no values");
  std::vector<std::string> known;
  for (size_t i = 0; i < point.values.size(); ++i) {
    const std::string& value = point.values[i].value;
    if (std::find(known.begin(), known.end(), value) != known.end())
      return wrong_at(reader, "/values/" + std::to_string(i) + "/value",
                      "\"" + value + "\" is given twice in point " + point.name);
    known.push_back(value);
  }
  const auto no_value = [&](const std::string& place, const std::string& value) {
    std::string hint = suggestion(value, known);
    return wrong_at(reader, place, "\"" + value + "\" is not a value of point " + point.name,
                    hint.empty() ? "its values: " + join(known, ", ") : hint);
  };
  if (!point.default_.empty() && !point.find(point.default_))
    return no_value("/default", point.default_);
  for (size_t i = 0; i < point.prefer.size(); ++i)
    for (size_t j = 0; j < point.prefer[i].values.size(); ++j)
      if (!point.find(point.prefer[i].values[j]))
        return no_value("/prefer/" + std::to_string(i) + "/values/" + std::to_string(j),
                        point.prefer[i].values[j]);
  return {};
}

} // namespace

Result<Requirement> parse_requirement(const JsonReader& reader) {
  Requirement required;
  if (!reader.json().is_object())
    return reader.wrong("an object");
  if (reader.has("cpu")) {
    XAAS_TRY(const JsonReader cpu, reader.at("cpu"));
    if (cpu.json().is_string()) {
      required.cpu = {cpu.json().get<std::string>()};
    } else {
      XAAS_TRY(required.cpu, cpu.strings());
    }
  }
  if (reader.has("gpu")) {
    XAAS_TRY(const JsonReader json, reader.at("gpu"));
    if (!json.json().is_object())
      return json.wrong("an object");
    Requirement::Gpu gpu;
    XAAS_TRY(gpu.vendor, json.string_or("vendor", ""));
    XAAS_TRY(gpu.arch, json.string_or("arch", ""));
    XAAS_TRY(gpu.driver, json.string_or("driver", ""));
    if (json.has("or")) {
      XAAS_TRY(const JsonReader other, json.at("or"));
      if (other.json() != "cpu")
        return other.wrong("\"cpu\"");
      gpu.or_cpu = true;
    }
    required.gpu = std::move(gpu);
  }
  XAAS_TRY(required.mpi, reader.string_or("mpi", ""));
  XAAS_TRY(const std::vector<JsonReader> libraries, items_at(reader, "library"));
  for (const JsonReader& json : libraries) {
    Requirement::Library library;
    XAAS_TRY(library.name, json.string_at("name"));
    XAAS_TRY(library.version, json.string_or("version", ""));
    XAAS_TRY(library.from, parse_from(json));
    required.libraries.push_back(std::move(library));
  }
  XAAS_TRY(required.values, assignment_at(reader, "values"));
  return required;
}

Result<SpecializationPoint> parse_point(const JsonReader& reader) {
  SpecializationPoint point;
  XAAS_TRY(point.name, reader.string_at("name"));
  XAAS_TRY(point.category, reader.string_or("category", "other"));
  if (reader.has("default") && !reader.json()["default"].is_null()) {
    XAAS_TRY(point.default_, reader.string_at("default"));
    if (point.default_.empty())
      return wrong_at(reader, "/default", "\"\" is not a value of point " + point.name);
  }
  point.follows_isa = reader.has("follows");
  XAAS_TRY(const JsonReader array, reader.at("values"));
  XAAS_TRY(const std::vector<JsonReader> values, array.items());
  for (const JsonReader& json : values) {
    XAAS_TRY(Value value, parse_value(json));
    point.values.push_back(std::move(value));
  }
  XAAS_TRY(const std::vector<JsonReader> preferences, items_at(reader, "prefer"));
  for (const JsonReader& json : preferences) {
    Preference preference;
    XAAS_TRY(preference.cpu, strings_at(json, "cpu"));
    XAAS_TRY(preference.values, strings_at(json, "values"));
    point.prefer.push_back(std::move(preference));
  }
  XAAS_CHECK(check_values(point, reader));
  return point;
}

bool is_library_name(const std::string& name) {
  constexpr size_t longest = 200;
  return !name.empty() && name.size() <= longest && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) ||
                  std::string_view("._+-").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

// Also reads untrusted images; the names become file names.
Result<HostPreference> parse_host_preference(const JsonReader& reader) {
  HostPreference preference;
  if (reader.json().is_string()) {
    XAAS_TRY(preference.what, reader.string());
  } else {
    XAAS_TRY(preference.what, reader.string_at("library"));
    XAAS_TRY(preference.sonames, strings_at(reader, "sonames"));
  }
  std::vector<std::string> names = preference.sonames;
  names.push_back(preference.what);
  for (const std::string& name : names)
    if (!is_library_name(name))
      return wrong_at(reader, "", "\"" + name + "\" is not the name of a library");
  return preference;
}

Result<Application> parse_application(const std::string& text, const std::string& name) {
  XAAS_TRY(const Json document, parse_json(text, name, true));
  XAAS_CHECK(validate(document, application_schema(), name));
  XAAS_TRY(Application application, read_document(JsonReader(document, name + ": ", ErrorKind::usage)));
  XAAS_CHECK(check(application, name));
  return application;
}

Result<Application> read_application(const fs::path& path) {
  Result<std::string> text = read_file(path, uint64_t(1) << 22);
  if (!text && text.error().kind == ErrorKind::integrity) // too large
    text.error().kind = ErrorKind::usage;
  if (!text)
    return std::move(text).error();
  return parse_application(*text, path.string());
}

} // namespace xaas::spec

#include <xaas/link/installed.h>
#include <xaas/target/gpu.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace xaas::link {

namespace {

using Kind = InstalledFile::Kind;

const std::map<std::string, Kind> installed_kinds = {
    {"directory", Kind::directory}, {"symlink", Kind::symlink}, {"file", Kind::file},
    {"unit", Kind::unit},           {"archive", Kind::archive}, {"link", Kind::link}};

const std::map<std::string, Finish::Strip> strips = {
    {"none", Finish::Strip::none}, {"debug", Finish::Strip::debug}, {"all", Finish::Strip::all}};

const std::map<std::string, Finish::Tag> tags = {{"runpath", Finish::Tag::runpath},
                                                 {"rpath", Finish::Tag::rpath}};

using Form = DeviceFile::Form;

const std::map<std::string, Form> forms = {{"ptx", Form::ptx},
                                           {"cubin", Form::cubin},
                                           {"fatbin", Form::fatbin},
                                           {"code-object", Form::code_object},
                                           {"spirv", Form::spirv}};

template <typename Value> std::string name_of(const std::map<std::string, Value>& names, Value value) {
  for (const auto& [name, each] : names)
    if (each == value)
      return name;
  return {};
}

Result<Finish> parse_finish(const JsonReader& reader) {
  Finish finish;
  XAAS_TRY(const std::string strip, reader.string_at("strip"));
  const auto found = strips.find(strip);
  if (found == strips.end())
    return make_error(ErrorKind::integrity,
                      reader.where() + "/strip: '" + strip + "' is not none, debug or all");
  finish.strip = found->second;
  if (reader.has("runpath")) {
    XAAS_TRY(finish.runpath, reader.string_at("runpath"));
  }
  if (reader.has("tag")) {
    XAAS_TRY(const std::string tag, reader.string_at("tag"));
    const auto known = tags.find(tag);
    if (known == tags.end())
      return make_error(ErrorKind::integrity, reader.where() + "/tag: '" + tag + "' is not runpath or rpath");
    finish.tag = known->second;
  }
  return finish;
}

bool stays_under_root(const std::string& path) {
  const std::filesystem::path given(path);
  if (path.empty() || given.is_absolute() || path.find('\0') != std::string::npos)
    return false;
  if (given.lexically_normal() != given || !given.has_filename() || given == ".")
    return false;
  // A whiteout would remove files of the layers below.
  return std::none_of(given.begin(), given.end(), [](const std::filesystem::path& part) {
    return part == ".." || part.string().starts_with(".wh.");
  });
}

} // namespace

std::string to_string(DeviceFile::Form form) {
  return name_of(forms, form);
}

Json to_json(const DeviceFile& file) {
  Json json{{"form", to_string(file.form)}};
  for (const auto& [arch, unit] : file.units)
    json["units"][arch] = unit.to_string();
  if (!file.reason.empty())
    json["reason"] = file.reason;
  return json;
}

Result<DeviceFile> parse_device_file(const JsonReader& reader) {
  DeviceFile file;
  XAAS_TRY(const std::string form, reader.string_at("form"));
  const auto found = forms.find(form);
  if (found == forms.end())
    return make_error(ErrorKind::integrity, reader.where() + "/form: '" + form + "' is not known");
  file.form = found->second;
  XAAS_TRY(file.reason, reader.string_or("reason", ""));
  if (!reader.has("units"))
    return file;
  XAAS_TRY(const JsonReader units, reader.at("units"));
  if (!units.json().is_object())
    return units.wrong("an object");
  for (const auto& [arch, id] : units.json().items()) {
    const Result<target::GpuArch> gpu = target::parse_gpu_arch(arch);
    if (!gpu || gpu->vendor != target::GpuArch::Vendor::nvidia)
      return make_error(ErrorKind::integrity,
                        units.where() + ": \"" + arch + "\" is not an NVIDIA GPU architecture");
    XAAS_TRY(const std::string digest, units.string_at(arch));
    XAAS_TRY(file.units[arch], Digest::parse(digest).in(units.where() + "/" + arch));
  }
  if (file.form == Form::code_object || file.form == Form::spirv)
    return make_error(ErrorKind::integrity, reader.where() + ": files of this form have no units");
  return file;
}

Json to_json(const InstalledFile& file) {
  Json json{{"path", file.path}, {"kind", name_of(installed_kinds, file.kind)}, {"mode", file.mode}};
  if (file.kind == Kind::symlink)
    json["destination"] = file.destination;
  else if (file.kind != Kind::directory)
    json["digest"] = file.digest.to_string();
  if (file.finish) {
    json["finish"] = Json{{"strip", name_of(strips, file.finish->strip)}};
    if (file.finish->runpath)
      json["finish"]["runpath"] = *file.finish->runpath;
    if (file.finish->tag)
      json["finish"]["tag"] = name_of(tags, *file.finish->tag);
  }
  if (file.native)
    json["native"] = true;
  if (file.device)
    json["device"] = to_json(*file.device);
  return json;
}

Result<InstalledFile> parse_installed_file(const JsonReader& reader) {
  InstalledFile file;
  XAAS_TRY(file.path, reader.string_at("path"));
  if (!stays_under_root(file.path))
    return make_error(ErrorKind::integrity,
                      reader.where() + "/path: '" + file.path + "' leaves the image's root");
  XAAS_TRY(const std::string kind, reader.string_at("kind"));
  const auto found = installed_kinds.find(kind);
  if (found == installed_kinds.end())
    return make_error(ErrorKind::integrity, reader.where() + "/kind: '" + kind + "' is not known");
  file.kind = found->second;
  XAAS_TRY(const JsonReader mode, reader.at("mode"));
  XAAS_TRY(const uint64_t bits, mode.size());
  if (bits > 0777)
    return make_error(ErrorKind::integrity,
                      mode.where() + ": " + std::to_string(bits) + " is not a set of permissions");
  file.mode = static_cast<unsigned>(bits);
  if (file.kind == Kind::symlink) {
    XAAS_TRY(file.destination, reader.string_at("destination"));
    if (file.destination.empty() || file.destination.find('\0') != std::string::npos)
      return make_error(ErrorKind::integrity, reader.where() + "/destination: not a path");
  } else if (file.kind != Kind::directory) {
    XAAS_TRY(const std::string digest, reader.string_at("digest"));
    XAAS_TRY(file.digest, Digest::parse(digest).in(reader.where() + "/digest"));
  }
  if (reader.has("finish")) {
    XAAS_TRY(const JsonReader finish, reader.at("finish"));
    XAAS_TRY(file.finish, parse_finish(finish));
  }
  XAAS_TRY(file.native, reader.boolean_or("native", false));
  if (reader.has("device")) {
    XAAS_TRY(const JsonReader device, reader.at("device"));
    if (file.kind != Kind::file)
      return make_error(ErrorKind::integrity, device.where() + ": only a plain file can have it");
    XAAS_TRY(file.device, parse_device_file(device));
  }
  return file;
}

} // namespace xaas::link

// Records as JSON.
//
// An item of a link is {"option":"--as-needed"}, {"option":"-z","value":"now"},
// {"option":"--version-script","file":FILE} or {"input":FILE}. A FILE is
// {"unit"|"archive"|"link"|"kit":"sha256:...","name":"x.o"}. `plugins`, and
// what belongs to them, is written only if there are some.
// Records are untrusted input, so the parser rejects any item that this code would not write.
#include <xaas/link/record.h>

#include "options.h"

#include <algorithm>
#include <array>

namespace xaas::link {
namespace {

constexpr std::array<const char*, 4> file_kinds = {"unit", "archive", "link", "kit"}; // by FileRef::Kind
constexpr std::array<const char*, 3> output_kinds = {"executable", "shared", "relocatable"}; // by OutputKind

Json to_json(const FileRef& file) {
  Json json;
  json[file_kinds.at(size_t(file.kind))] = file.digest.to_string();
  json["name"] = file.name;
  return json;
}

Error bad(const JsonReader& reader, const std::string& what) {
  return make_error(ErrorKind::integrity, reader.where() + ": " + what);
}

Result<std::string> parse_name(const JsonReader& reader) {
  XAAS_TRY(const std::string name, reader.string_at("name"));
  const bool plain = std::none_of(name.begin(), name.end(),
                                  [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; });
  if (name.empty() || name.size() > 255 || name == "." || name == ".." || !plain)
    return make_error(ErrorKind::integrity, reader.where() + "/name: not a plain file name");
  return name;
}

Result<FileRef> parse_file(const JsonReader& reader) {
  XAAS_CHECK(reader.only({"unit", "archive", "link", "kit", "name"}));
  FileRef file;
  int kinds = 0;
  for (size_t kind = 0; kind < file_kinds.size(); ++kind) {
    if (!reader.has(file_kinds[kind]))
      continue;
    ++kinds;
    file.kind = FileRef::Kind(kind);
    XAAS_TRY(const std::string digest, reader.string_at(file_kinds[kind]));
    XAAS_TRY(file.digest, Digest::parse(digest).in(reader.where() + "/" + file_kinds[kind]));
  }
  if (kinds != 1)
    return bad(reader, "expected one of unit, archive, link, kit");
  XAAS_TRY(file.name, parse_name(reader));
  return file;
}

Result<LinkItem> parse_item(const JsonReader& reader) {
  LinkItem item;
  if (reader.has("input")) {
    XAAS_CHECK(reader.only({"input"}));
    XAAS_TRY(const JsonReader input, reader.at("input"));
    XAAS_TRY(item.file, parse_file(input));
    return item;
  }
  XAAS_TRY(item.option, reader.string_at("option"));
  const Option* const option = find_record_option(item.option);
  if (!option)
    return bad(reader, "a link record cannot have the option " + item.option);
  if (option->use == Option::Use::file) {
    XAAS_CHECK(reader.only({"option", "file"}));
    item.kind = LinkItem::Kind::file_option;
    XAAS_TRY(const JsonReader file, reader.at("file"));
    XAAS_TRY(item.file, parse_file(file));
    return item;
  }
  XAAS_CHECK(reader.only({"option", "value"}));
  item.kind = LinkItem::Kind::option;
  if (reader.has("value")) {
    XAAS_TRY(item.value, reader.string_at("value"));
    if (option->value == Option::Value::none)
      return bad(reader, "option " + item.option + " has no value");
  } else if (option->value == Option::Value::required) {
    return bad(reader, "option " + item.option + " needs a value");
  }
  if (!valid_value(*option, item.value))
    return bad(reader, "\"" + item.value + "\" is not a value of option " + item.option);
  return item;
}

// What only a link with pass plugins has.
Result<void> parse_plugins(const JsonReader& reader, LinkRecord& record) {
  XAAS_TRY(record.plugins, ir::parse_asked_plugins(reader));
  if (record.plugins.empty() && (reader.has("objects") || reader.has("lto_level")))
    return bad(reader, "objects or lto_level without plugins");
  if (!record.plugins.empty() && record.kind == OutputKind::relocatable)
    return bad(reader, "a relocatable link with pass plugins");
  if (reader.has("objects")) {
    XAAS_TRY(const std::vector<std::string> objects, reader.strings_at("objects"));
    for (const std::string& object : objects) {
      XAAS_TRY(const Digest unit, Digest::parse(object).in(reader.where() + "/objects"));
      record.objects.insert(unit);
    }
  }
  if (reader.has("lto_level")) {
    XAAS_TRY(const JsonReader member, reader.at("lto_level"));
    XAAS_TRY(const uint64_t level, member.size());
    if (level > 3)
      return bad(member, "a level of optimization is 0 to 3");
    record.lto_level = static_cast<unsigned>(level);
  }
  return {};
}

Digest digest_of_json(const Json& json) {
  return digest_of(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

} // namespace

Json to_json(const ArchiveRecord& record) {
  Json members = Json::array();
  for (const ArchiveRecord::Member& member : record.members) {
    Json json;
    json["name"] = member.name;
    json["file"] = to_json(member.file);
    members.push_back(std::move(json));
  }
  Json json;
  json["members"] = std::move(members);
  return json;
}

Json to_json(const LinkRecord& record) {
  Json items = Json::array();
  for (const LinkItem& item : record.items) {
    Json json;
    if (item.kind == LinkItem::Kind::input) {
      json["input"] = to_json(item.file);
    } else {
      json["option"] = item.option;
      const Option* const option = find_record_option(item.option);
      if (item.kind == LinkItem::Kind::file_option)
        json["file"] = to_json(item.file);
      else if (!item.value.empty() || (option && option->value == Option::Value::required))
        json["value"] = item.value;
    }
    items.push_back(std::move(json));
  }
  Json json;
  json["kind"] = output_kinds.at(size_t(record.kind));
  json["name"] = record.name;
  json["items"] = std::move(items);
  if (record.plugins.empty())
    return json;
  json["plugins"] = ir::to_json(record.plugins);
  for (const Digest& unit : record.objects)
    json["objects"].push_back(unit.to_string());
  if (record.lto_level != default_lto_level)
    json["lto_level"] = record.lto_level;
  return json;
}

bool is_cuda_runtime(const std::string& name) {
  return name == "libcudart_static.a" || name.starts_with("libcudart.so");
}

Digest ArchiveRecord::digest() const {
  return digest_of_json(to_json(*this));
}
Digest LinkRecord::digest() const {
  return digest_of_json(to_json(*this));
}

Result<ArchiveRecord> parse_archive_record(const JsonReader& reader) {
  XAAS_CHECK(reader.only({"members"}));
  XAAS_TRY(const JsonReader members, reader.at("members"));
  XAAS_TRY(const std::vector<JsonReader> items, members.items());
  ArchiveRecord record;
  for (const JsonReader& item : items) {
    XAAS_CHECK(item.only({"name", "file"}));
    ArchiveRecord::Member member;
    XAAS_TRY(member.name, parse_name(item));
    XAAS_TRY(const JsonReader file, item.at("file"));
    XAAS_TRY(member.file, parse_file(file));
    if (member.file.kind == FileRef::Kind::archive)
      return bad(file, "an archive in an archive");
    record.members.push_back(std::move(member));
  }
  return record;
}

Result<LinkRecord> parse_link_record(const JsonReader& reader) {
  XAAS_CHECK(reader.only({"kind", "name", "items", "plugins", "objects", "lto_level"}));
  LinkRecord record;
  XAAS_TRY(const std::string kind, reader.string_at("kind"));
  const auto found = std::find(output_kinds.begin(), output_kinds.end(), kind);
  if (found == output_kinds.end())
    return bad(reader, "kind \"" + kind + "\" is none of executable, shared, relocatable");
  record.kind = OutputKind(found - output_kinds.begin());
  XAAS_TRY(record.name, parse_name(reader));
  XAAS_TRY(const JsonReader list, reader.at("items"));
  XAAS_TRY(const std::vector<JsonReader> items, list.items());
  for (const JsonReader& item : items) {
    XAAS_TRY(LinkItem parsed, parse_item(item));
    record.items.push_back(std::move(parsed));
  }
  XAAS_CHECK(parse_plugins(reader, record));
  return record;
}

} // namespace xaas::link

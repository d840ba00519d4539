#include <xaas/base/json.h>

namespace xaas {

Result<Json> parse_json(std::string_view text, const std::string& name, bool comments, ErrorKind kind) {
  try {
    return Json::parse(text, nullptr, true, comments);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: ..." minus the library's own prefix.
    std::string what = error.what();
    if (const size_t end = what.find("] "); end != std::string::npos)
      what.erase(0, end + 2);
    return make_error(kind, name + ": not valid JSON: " + what);
  }
}

Result<Json> read_json(const fs::path& path, bool comments, ErrorKind kind) {
  XAAS_TRY(const std::string text, read_file(path, uint64_t(1) << 30));
  return parse_json(text, path.string(), comments, kind);
}

Error JsonReader::wrong(const std::string& expected) const {
  return make_error(kind_, where_ + ": expected " + expected + ", found " + std::string(value_->type_name()));
}

Result<JsonReader> JsonReader::at(const std::string& key) const {
  if (!value_->is_object())
    return wrong("an object");
  const auto found = value_->find(key);
  if (found == value_->end())
    return make_error(kind_, where_ + "/" + key + ": missing");
  return JsonReader(*found, where_ + "/" + key, kind_);
}

Result<std::vector<JsonReader>> JsonReader::items() const {
  if (!value_->is_array())
    return wrong("an array");
  std::vector<JsonReader> readers;
  for (size_t i = 0; i < value_->size(); ++i)
    readers.emplace_back((*value_)[i], where_ + "/" + std::to_string(i), kind_);
  return readers;
}

Result<std::string> JsonReader::string() const {
  if (!value_->is_string())
    return wrong("a string");
  return value_->get<std::string>();
}

Result<int64_t> JsonReader::integer() const {
  if (!value_->is_number_integer())
    return wrong("an integer");
  return value_->get<int64_t>();
}

Result<uint64_t> JsonReader::size() const {
  if (!value_->is_number_integer() || (!value_->is_number_unsigned() && value_->get<int64_t>() < 0))
    return wrong("a non-negative integer");
  return value_->get<uint64_t>();
}

Result<bool> JsonReader::boolean() const {
  if (!value_->is_boolean())
    return wrong("true or false");
  return value_->get<bool>();
}

Result<std::vector<std::string>> JsonReader::strings() const {
  XAAS_TRY(const std::vector<JsonReader> readers, items());
  std::vector<std::string> values;
  for (const JsonReader& reader : readers) {
    XAAS_TRY(std::string value, reader.string());
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::string> JsonReader::string_at(const std::string& key) const {
  XAAS_TRY(const JsonReader reader, at(key));
  return reader.string();
}

Result<std::string> JsonReader::string_or(const std::string& key, const std::string& otherwise) const {
  return has(key) ? string_at(key) : Result<std::string>(otherwise);
}

Result<bool> JsonReader::boolean_or(const std::string& key, bool otherwise) const {
  if (!has(key))
    return otherwise;
  XAAS_TRY(const JsonReader reader, at(key));
  return reader.boolean();
}

} // namespace xaas

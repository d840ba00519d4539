#include <xaas/base/json.h>

#include <algorithm>
#include <set>
#include <vector>

namespace xaas {

namespace {

// RFC 8259, section 4, leaves the meaning of a repeated name open, and readers differ: the reader that checks
// a document and the one that uses it could see different values. So such a document is an error.
//
// This is a separate pass because the library's parser takes quadratic time with a callback for a long array
// of objects.
class UniqueKeys final : public nlohmann::json_sax<Json> {
public:
  // The error: empty, or "/layers/0: has the key "size" twice".
  std::string error;

  bool key(string_t& name) override {
    open_.back().key = name;
    if (open_.back().keys.insert(name).second)
      return true;
    error = where() + ": has the key \"" + name + "\" twice";
    return false;
  }
  bool start_object(size_t) override { return start({}); }
  bool start_array(size_t) override { return start({.array = true}); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool null() override { return next(); }
  bool boolean(bool) override { return next(); }
  bool number_integer(number_integer_t) override { return next(); }
  bool number_unsigned(number_unsigned_t) override { return next(); }
  bool number_float(number_float_t, const string_t&) override { return next(); }
  bool string(string_t&) override { return next(); }
  bool binary(binary_t&) override { return next(); }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

private:
  struct Level {
    bool array = false;
    size_t index = 0;
    std::set<std::string> keys = {};
    std::string key = {};
  };

  // Most functions of the library recurse.
  bool start(Level level) {
    if (open_.size() == depth_limit) {
      error = ": nested more than " + std::to_string(depth_limit) + " levels deep";
      return false;
    }
    open_.push_back(std::move(level));
    return true;
  }
  bool end() {
    open_.pop_back();
    return next();
  }
  bool next() {
    if (!open_.empty() && open_.back().array)
      ++open_.back().index;
    return true;
  }
  // The JSON pointer of the current object.
  std::string where() const {
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i)
      path += "/" + (open_[i].array ? std::to_string(open_[i].index) : open_[i].key);
    return path;
  }

  static constexpr size_t depth_limit = 500;
  std::vector<Level> open_;
};

} // namespace

Result<Json> parse_json(std::string_view text, const std::string& name, bool comments, ErrorKind kind) {
  try {
    Json json = Json::parse(text, nullptr, true, comments);
    UniqueKeys unique;
    if (!Json::sax_parse(text, &unique, Json::input_format_t::json, true, comments))
      return make_error(kind, name + unique.error);
    return json;
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: ..." without the library's prefix.
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

Result<void> JsonReader::only(std::initializer_list<std::string_view> keys) const {
  XAAS_TRY(const auto all, members());
  for (const auto& [key, member] : all)
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return make_error(kind_, member.where() + ": unknown key");
  return {};
}

std::optional<JsonReader> JsonReader::find(const std::string& key) const {
  if (!value_->is_object())
    return std::nullopt;
  const auto found = value_->find(key);
  return found == value_->end() || found->is_null()
             ? std::nullopt
             : std::optional(JsonReader(*found, where_ + "/" + key, kind_));
}

Result<JsonReader> JsonReader::at(const std::string& key) const {
  if (!value_->is_object())
    return wrong("an object");
  const auto found = value_->find(key);
  if (found == value_->end())
    return make_error(kind_, where_ + "/" + key + ": missing");
  return JsonReader(*found, where_ + "/" + key, kind_);
}

Result<std::vector<std::pair<std::string, JsonReader>>> JsonReader::members() const {
  if (!value_->is_object())
    return wrong("an object");
  std::vector<std::pair<std::string, JsonReader>> readers;
  for (const auto& [key, value] : value_->items())
    readers.emplace_back(key, JsonReader(value, where_ + "/" + key, kind_));
  return readers;
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

Result<std::map<std::string, std::string>> JsonReader::string_map() const {
  XAAS_TRY(const auto all, members());
  std::map<std::string, std::string> values;
  for (const auto& [key, member] : all) {
    XAAS_TRY(values[key], member.string());
  }
  return values;
}

Result<std::string> JsonReader::string_at(const std::string& key) const {
  XAAS_TRY(const JsonReader reader, at(key));
  return reader.string();
}

Result<std::vector<std::string>> JsonReader::strings_at(const std::string& key) const {
  XAAS_TRY(const JsonReader reader, at(key));
  return reader.strings();
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

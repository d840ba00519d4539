// JSON with keys in the order in which they were written.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xaas {

using Json = nlohmann::ordered_json;

// Parses JSON, optionally with comments. The error has this kind and names line and column, or a repeated
// key.
Result<Json> parse_json(std::string_view text, const std::string& name, bool comments = false,
                        ErrorKind kind = ErrorKind::usage);
Result<Json> read_json(const fs::path& path, bool comments = false, ErrorKind kind = ErrorKind::usage);

// Typed access to a document that must be checked: files of our own, image metadata, answers of servers.
// Errors have the given kind and name the JSON pointer.
class JsonReader {
public:
  JsonReader(const Json& value, std::string where, ErrorKind kind = ErrorKind::integrity)
      : value_(&value), where_(std::move(where)), kind_(kind) {}
  const Json& json() const { return *value_; }
  const std::string& where() const { return where_; }

  // The value is an object without other keys than these.
  Result<void> only(std::initializer_list<std::string_view> keys) const;
  bool has(const std::string& key) const { return value_->is_object() && value_->contains(key); }
  std::optional<JsonReader> find(const std::string& key) const; // a member, unless it is missing or null
  Result<JsonReader> at(const std::string& key) const;          // a member of an object
  Result<std::vector<std::pair<std::string, JsonReader>>> members() const; // of an object, in order
  Result<std::vector<JsonReader>> items() const;                           // elements of an array

  Result<std::string> string() const;
  Result<int64_t> integer() const;
  Result<uint64_t> size() const; // a non-negative integer
  Result<bool> boolean() const;
  Result<std::vector<std::string>> strings() const;
  Result<std::map<std::string, std::string>> string_map() const; // an object of strings

  Result<std::string> string_at(const std::string& key) const;
  Result<std::vector<std::string>> strings_at(const std::string& key) const;
  Result<std::string> string_or(const std::string& key, const std::string& otherwise) const;
  Result<bool> boolean_or(const std::string& key, bool otherwise) const;
  Error wrong(const std::string& expected) const;

private:
  const Json* value_;
  std::string where_;
  ErrorKind kind_;
};

} // namespace xaas

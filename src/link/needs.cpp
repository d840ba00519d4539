#include <xaas/base/worker.h>
#include <xaas/ir/symbols.h>
#include <xaas/link/needs.h>
#include <xaas/link/note.h>

#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <vector>

namespace xaas::link {

namespace {

constexpr uint64_t max_names = uint64_t(1) << 28; // bytes

// Calls `take` with each word and the text behind it.
void for_each_word(std::string_view text,
                   const std::function<void(std::string_view, std::string_view)>& take) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && in_name(text[end]))
      ++end;
    if (end > at)
      take(text.substr(at, end - at), text.substr(end));
    at = end + 1;
  }
}

void add_words(std::string_view text, std::set<std::string>& words) {
  for_each_word(text, [&](std::string_view word, std::string_view) { words.emplace(word); });
}

// `name = expression` of a linker script.
void add_assigned(std::string_view text, std::set<std::string>& names) {
  for_each_word(text, [&](std::string_view word, std::string_view behind) {
    behind.remove_prefix(std::min(behind.find_first_not_of(" \t\r\n"), behind.size()));
    if (behind.starts_with("=") && !behind.starts_with("=="))
      names.emplace(word);
  });
}

// Which archives are linked whole, as the options before them say.
class WholeArchives {
public:
  void see(const std::string& option) {
    if (option == "--whole-archive")
      whole_ = true;
    else if (option == "--no-whole-archive")
      whole_ = false;
    else if (option == "--push-state")
      saved_.push_back(whole_);
    else if (option == "--pop-state" && !saved_.empty()) {
      whole_ = saved_.back();
      saved_.pop_back();
    }
  }
  bool now() const { return whole_; }

private:
  bool whole_ = false;
  std::vector<bool> saved_;
};

bool wants_patterns(const LinkRecord& record) {
  for (const LinkItem& item : record.items)
    if (item.kind == LinkItem::Kind::option && item.option == "--undefined-glob")
      return true;
  return false;
}

// The names that `add` takes out of each file, read in a worker.
Result<std::set<std::string>>
names_in(const std::map<fs::path, std::string>& files,
         const std::function<Result<void>(const llvm::MemoryBufferRef&, std::set<std::string>&)>& add) {
  WorkerLimits limits;
  limits.answer = max_names;
  for (const auto& [path, name] : files)
    limits.readable.push_back(path);
  const auto read = [&]() -> Result<std::string> {
    std::set<std::string> names;
    for (const auto& [path, name] : files) {
      XAAS_TRY(const std::string content, read_file(path).in(name));
      XAAS_CHECK(add(llvm::MemoryBufferRef(content, name), names));
    }
    std::string lines;
    for (const std::string& name : names)
      lines += name + "\n";
    return lines;
  };
  XAAS_TRY(const std::string lines, run_worker("reading symbols", read, limits));
  std::set<std::string> names;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    names.insert(lines.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

bool has_symbols(const llvm::MemoryBufferRef& file) {
  return is_elf(file.getBuffer()) || is_archive(file.getBuffer());
}

} // namespace

Needs needs_of(const LinkRecord& record) {
  Needs needs;
  needs.names = {"_start", "_init", "_fini"}; // the defaults of --entry, --init and --fini
  const bool all_whole = record.kind == OutputKind::relocatable || wants_patterns(record);
  WholeArchives whole;
  for (const LinkItem& item : record.items) {
    if (item.kind != LinkItem::Kind::option) {
      const bool by_need = item.file.kind == FileRef::Kind::archive && !all_whole && !whole.now();
      (by_need ? needs.archives : needs.whole).insert(item.file);
      continue;
    }
    whole.see(item.option);
    add_words(item.value, needs.names);
    if (item.option == "--wrap") {
      needs.names.insert("__wrap_" + item.value);
      needs.names.insert("__real_" + item.value);
    }
  }
  return needs;
}

Result<std::set<std::string>> names_wanted_by(const std::map<fs::path, std::string>& files) {
  return names_in(files, [](const llvm::MemoryBufferRef& file, std::set<std::string>& names) -> Result<void> {
    if (!has_symbols(file)) {
      add_words(file.getBuffer(), names);
      return {};
    }
    XAAS_TRY(ir::Symbols symbols, ir::symbols_of(file));
    names.merge(symbols.wanted);
    return {};
  });
}

Result<std::set<std::string>> names_defined_by(const std::map<fs::path, std::string>& files) {
  return names_in(files, [](const llvm::MemoryBufferRef& file, std::set<std::string>& names) -> Result<void> {
    if (!has_symbols(file)) {
      add_assigned(file.getBuffer(), names);
      return {};
    }
    XAAS_TRY(ir::Symbols symbols, ir::symbols_of(file));
    names.merge(symbols.defined);
    return {};
  });
}

} // namespace xaas::link

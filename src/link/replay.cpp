#include <xaas/link/replay.h>

#include "linker_process.h"
#include "options.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

namespace xaas::link {
namespace {

// Turns a record into a directory of links to its inputs, and arguments for lld.
class Staging {
public:
  Staging(const fs::path& directory, const FileProvider& provider, bool lto)
      : directory_(directory), provider_(provider), lto_(lto) {}

  Result<void> add_items(const LinkRecord& record, const std::optional<Finish>& finish) {
    for (const LinkItem& item : record.items) {
      switch (item.kind) {
      case LinkItem::Kind::option:
        XAAS_CHECK(add_option(item, finish.has_value()));
        break;
      case LinkItem::Kind::file_option:
        XAAS_CHECK(add_file_option(item));
        break;
      case LinkItem::Kind::input:
        XAAS_CHECK(add_input(item.file));
        break;
      }
    }
    return {};
  }

  void add(const std::string& argument) { arguments.push_back(argument); }

  std::vector<std::string> arguments;
  std::vector<VettedInput> inputs;
  std::vector<fs::path> files() const { // the files that lld may read
    std::vector<fs::path> files;
    for (const auto& [file, place] : placed_)
      files.push_back(directory_ / "in" / place);
    return files;
  }

private:
  // Values are always joined to their option: a separate argument that begins with `@` would name a response
  // file.
  Result<void> add_option(const LinkItem& item, bool finished) {
    const Option* const option = find_record_option(item.option);
    if (!option || option->use != Option::Use::keep || !valid_value(*option, item.value))
      return make_error(ErrorKind::integrity,
                        "a link record cannot have the option " + item.option + " " + item.value);
    if (item.option == "--rpath" && finished)
      return {};
    if (item.option.size() == 2)
      add(item.option + item.value);
    else if (option->value == Option::Value::required || !item.value.empty())
      add(item.option + "=" + item.value);
    else
      add(item.option);
    return {};
  }

  Result<void> add_file_option(const LinkItem& item) {
    const Option* const option = find_record_option(item.option);
    if (!option || option->use != Option::Use::file)
      return make_error(ErrorKind::integrity, "option " + item.option + " has no file");
    XAAS_TRY(const std::string path, place(item.file));
    add(item.option + "=in/" + path);
    if (option->name == "script" || option->name == "default-script")
      inputs.push_back({"in/" + path, item.file.name, true});
    return {};
  }

  Result<void> add_input(const FileRef& file) {
    XAAS_TRY(const std::string path, place(file));
    XAAS_TRY(const bool shared, is_shared(file));
    // lld puts the file name, not this path, into DT_NEEDED for a library that it searches.
    add(shared ? "-l:" + path : "in/" + path);
    const bool made_here = file.kind == FileRef::Kind::unit || file.kind == FileRef::Kind::archive;
    inputs.push_back({"in/" + path, file.name, false, lto_ && made_here});
    return {};
  }

  // Makes `in/<n>/<name>` and returns "<n>/<name>".
  Result<std::string> place(const FileRef& file) {
    if (const auto placed = placed_.find(file); placed != placed_.end())
      return placed->second;
    if (file.name.empty() || file.name == "." || file.name == ".." ||
        file.name.find('/') != std::string::npos)
      return make_error(ErrorKind::integrity, "\"" + file.name + "\" is not a file name");
    XAAS_TRY(const fs::path path, provider_(file).in(file.name));
    const std::string place = std::to_string(placed_.size()) + "/" + file.name;
    const fs::path link = directory_ / "in" / place;
    XAAS_CHECK(make_directories(link.parent_path()));
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    if (!error)
      fs::create_symlink(absolute, link, error);
    if (error)
      return errno_error(error.value(), "linking " + link.string());
    placed_[file] = place;
    return place;
  }

  Result<bool> is_shared(const FileRef& file) const {
    const fs::path path = directory_ / "in" / placed_.at(file);
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
      return make_error(ErrorKind::failed, "cannot open " + file.name);
    char header[18] = {};
    stream.read(header, sizeof(header));
    return stream.gcount() == sizeof(header) && std::string_view(header, 4) == "\177ELF" &&
           header[16] == llvm::ELF::ET_DYN && header[17] == 0;
  }

  fs::path directory_;
  const FileProvider& provider_;
  bool lto_;
  std::map<FileRef, std::string> placed_;
};

void add_finish(Staging& staging, const Finish& finish, OutputKind kind) {
  if (finish.runpath && !finish.runpath->empty())
    staging.add("--rpath=" + *finish.runpath);
  if (finish.tag)
    staging.add(*finish.tag == Finish::Tag::rpath ? "--disable-new-dtags" : "--enable-new-dtags");
  if (kind == OutputKind::relocatable)
    return;
  if (finish.strip == Finish::Strip::debug)
    staging.add("--strip-debug");
  else if (finish.strip == Finish::Strip::all)
    staging.add("--strip-all");
}

void add_target(Staging& staging, const ir::TargetAttributes& target) {
  if (!target.cpu.empty())
    staging.add("--plugin-opt=mcpu=" + target.cpu);
  if (!target.features.empty())
    staging.add("-mllvm=-mattr=" + target.features);
}

void add_plugins(Staging& staging, const std::vector<lower::PluginUse>& plugins) {
  for (const lower::PluginUse& use : plugins) {
    staging.add("--load-pass-plugin=" + use.plugin.file.string());
    for (const std::string& option : use.options)
      staging.add("-mllvm=-" + option);
  }
}

Result<ReplayResult> link(const LinkRecord& record, const FileProvider& provider,
                          const ReplayOptions& options) {
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  const bool lto = options.lto_level && record.kind != OutputKind::relocatable;
  Staging staging(directory.path(), provider, lto);
  // A version script may name symbols that do not exist, as in GNU ld, for which projects write their scripts
  // and configure checks. An option of the record overrides this.
  for (const char* argument : {"ld.lld", "--color-diagnostics=never", "--no-demangle", "--error-limit=0",
                               "--no-dependent-libraries", "--undefined-version", "-Lin", "-oout"})
    staging.add(argument);
  staging.add("--threads=" + std::to_string(std::max(1u, options.threads)));
  std::vector<fs::path> directories = {directory.path()};
  if (lto) {
    staging.add("--lto-O" + std::to_string(*options.lto_level));
    add_target(staging, options.lto_target);
    for (const std::string& option : options.llvm_options)
      staging.add("-mllvm=-" + option);
    if (!options.lto_cache.empty()) {
      staging.add("--thinlto-cache-dir=" + fs::absolute(options.lto_cache).string());
      directories.push_back(options.lto_cache);
    }
  }
  if (record.kind == OutputKind::shared)
    staging.add("--shared");
  else if (record.kind == OutputKind::relocatable)
    staging.add("--relocatable");
  if (!options.guard.empty() && record.kind != OutputKind::relocatable) {
    XAAS_CHECK(write_file(directory.path() / "guard.o", options.guard, 0600, /*durable=*/false));
    staging.add("guard.o");
  }
  XAAS_CHECK(staging.add_items(record, options.finish));
  if (options.finish)
    add_finish(staging, *options.finish, record.kind);
  if (options.note) {
    XAAS_CHECK(write_file(directory.path() / "note.o",
                          note_object(options.arch, Note::Kind::link, *options.note), 0600,
                          /*durable=*/false));
    staging.add("note.o");
  }
  LinkerLimits limits{options.cpu_seconds, options.max_bytes};
  if (lto) {
    add_plugins(staging, options.plugins);
    limits.plugins = options.plugins;
  }
  ReplayResult result;
  XAAS_TRY(result.messages,
           run_linker(directories, staging.arguments, staging.inputs, staging.files(), limits));
  XAAS_TRY(result.output, read_file(directory.path() / "out"));
  if (options.note)
    XAAS_CHECK(seal(result.output, Note::Kind::link));
  return result;
}

} // namespace

Result<ReplayResult> replay(const LinkRecord& record, const FileProvider& provider,
                            const ReplayOptions& options) {
  return link(record, provider, options).in("linking " + record.name);
}

std::vector<std::string> undefined_symbols(const std::string& messages) {
  std::vector<std::string> symbols;
  std::set<std::string> seen;
  size_t at = 0;
  while ((at = messages.find("error: ", at)) != std::string::npos) {
    const std::string line = messages.substr(at, messages.find('\n', at) - at);
    at += line.size();
    // "error: undefined symbol: f", "error: undefined hidden symbol: f" and their like.
    const size_t mark = line.find("symbol: ");
    if (!line.starts_with("error: undefined ") || mark == std::string::npos)
      return {};
    const std::string symbol = line.substr(mark + 8);
    if (seen.insert(symbol).second)
      symbols.push_back(symbol);
  }
  return symbols;
}

} // namespace xaas::link

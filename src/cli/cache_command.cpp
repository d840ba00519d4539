#include "caches.h"
#include "command.h"
#include "settings.h"

#include <xaas/run/tree_store.h>

#include <iostream>

namespace xaas::cli {

namespace {

class CacheCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("ACTION", action_,
                   "info: show the contents; prune: remove the least recently used entries")
        ->required()
        ->check(CLI::IsMember({"info", "prune"}));
    app.add_option("--max-size", max_size_,
                   "prune: size to prune to, as in 2G (default: the limit); 0 removes everything")
        ->type_name("SIZE");
  }

  Result<void> run() override {
    if (!max_size_.empty() && action_ != "prune")
      return make_error(ErrorKind::usage, "xaas cache " + action_ + ": --max-size needs prune");
    const uint64_t limit = max_cache_bytes();
    uint64_t removed = 0;
    if (action_ == "prune") {
      uint64_t max_bytes = limit;
      if (!max_size_.empty()) {
        XAAS_TRY(max_bytes, parse_size("--max-size ", max_size_));
      }
      const uint64_t before = bytes_of(state());
      XAAS_CHECK(prune_all(max_bytes));
      const uint64_t after = bytes_of(state());
      removed = before > after ? before - after : 0; // other runs may add entries meanwhile
    }
    const std::vector<Row> rows = state();
    if (common.json())
      print_json(rows, limit, removed);
    else
      print_table(rows, limit, removed);
    return {};
  }

private:
  struct Row {
    std::string name, directory, trouble; // trouble: why the cache is not used
    store::Cache::Use use;
  };

  static uint64_t bytes_of(const std::vector<Row>& rows) {
    uint64_t bytes = 0;
    for (const Row& row : rows)
      bytes += row.use.bytes;
    return bytes;
  }

  static std::vector<Row> state() {
    std::vector<Row> rows;
    for (const std::string& name : cache_names()) {
      Row row{name, (cache_directory() / name).string(), {}, {}};
      std::error_code code;
      if (fs::exists(row.directory, code)) {
        const Result<store::Cache> cache = store::Cache::open(row.directory);
        if (cache)
          row.use = cache->use();
        else
          row.trouble = cache.error().message;
      }
      rows.push_back(std::move(row));
    }
    rows.push_back(state_of_trees());
    Row compilers{compilers_name, (cache_directory() / compilers_name).string(), {}, {}};
    if (const Result<std::vector<CompilerCache>> caches = compiler_caches(); !caches)
      compilers.trouble = caches.error().message;
    else
      for (const CompilerCache& cache : *caches) {
        ++compilers.use.entries;
        compilers.use.bytes += cache.bytes;
      }
    rows.push_back(std::move(compilers));
    return rows;
  }

  static Row state_of_trees() {
    Row row{trees_name, (cache_directory() / trees_name).string(), {}, {}};
    std::error_code code;
    if (!fs::exists(row.directory, code))
      return row;
    const Result<run::TreeStore> store = run::TreeStore::open(row.directory);
    if (!store)
      row.trouble = store.error().message;
    else
      for (const run::TreeStore::Entry& tree : store->entries()) {
        ++row.use.entries;
        row.use.bytes += tree.bytes;
      }
    return row;
  }

  // The rows of the shared cache, if one is set.
  static std::vector<Row> shared_state() {
    std::vector<Row> rows;
    const fs::path directory = settings().shared_cache();
    for (const std::string& name : shared_cache_names()) {
      if (directory.empty())
        continue;
      Row row{name, (directory / name).string(), {}, {}};
      if (const Result<store::SharedCache> cache = open_shared_cache(name); !cache)
        row.trouble = cache.error().message;
      else
        row.use = store::Cache::at(cache->root()).use();
      rows.push_back(std::move(row));
    }
    return rows;
  }

  static Json rows_json(const std::vector<Row>& rows) {
    Json caches = Json::array();
    for (const Row& row : rows)
      caches.push_back(Json{{"name", row.name},
                            {"directory", row.directory},
                            {"entries", row.use.entries},
                            {"bytes", row.use.bytes},
                            {"trouble", row.trouble.empty() ? Json() : Json(row.trouble)}});
    return caches;
  }

  static void print_json(const std::vector<Row>& rows, uint64_t limit, uint64_t removed) {
    print(Json{{"version", 1},
               {"caches", rows_json(rows)},
               {"shared", rows_json(shared_state())},
               {"max_bytes", limit},
               {"removed_bytes", removed}});
  }

  static void print_table(const std::vector<Row>& rows, uint64_t limit, uint64_t removed) {
    std::vector<std::vector<std::string>> cells;
    const auto add = [&cells](const Row& row, const std::string& note) {
      cells.push_back({row.name + note,
                       row.trouble.empty() ? human_bytes(row.use.bytes) : "not used: " + row.trouble,
                       std::to_string(row.use.entries) + " entries", row.directory});
    };
    for (const Row& row : rows)
      add(row, "");
    for (const Row& row : shared_state())
      add(row, " (shared)");
    cells.push_back({"limit", human_bytes(limit)});
    if (removed)
      cells.push_back({"removed", human_bytes(removed)});
    std::cout << table(cells);
  }

  std::string action_, max_size_;
};

} // namespace

std::unique_ptr<Command> make_cache_command() {
  return std::make_unique<CacheCommand>();
}

} // namespace xaas::cli

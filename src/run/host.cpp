// What a program has of the machine that runs it.
#include "program.h"

#include <xaas/base/tree_path.h>
#include <xaas/run/run.h>
#include <xaas/runtimes/knowledge.h>

#include <unistd.h>

extern char** environ;

namespace xaas::run {

std::vector<Bind> binds_of_machine(const fs::path& tree) {
  std::vector<Bind> binds;
  std::error_code code;
  for (const runtimes::HostBind& bind : runtimes::Knowledge::get().binds) {
    const TreePlace place = find_in_tree(tree, bind.path);
    // Not if the tree has a link into the host's own files there, or a directory where a file should be.
    if (fs::exists(bind.path, code) &&
        (place.type == fs::file_type::not_found ||
         (place.type == fs::file_type::directory) == fs::is_directory(bind.path, code)))
      binds.push_back({bind.path, bind.path, bind.read_only, false, bind.optional});
  }
  return binds;
}

Host this_host() {
  Host host;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (const size_t equals = text.find('='); equals != std::string::npos)
      host.environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  std::error_code code;
  host.directory = fs::current_path(code);
  if (code)
    host.directory = "/";
  return host;
}

} // namespace xaas::run

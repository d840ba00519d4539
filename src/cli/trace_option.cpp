#include "trace_option.h"

#include "terminal.h"

#include <xaas/base/umask.h>

namespace xaas::cli {

void TraceOption::add(CLI::App& app) {
  app.add_option("--trace", file_,
                 "Write where the time went to FILE, in the Trace Event Format that Perfetto opens")
      ->type_name("FILE");
}

void TraceOption::begin(const std::string& name) {
  if (file_.empty())
    return;
  trace::start();
  all_.emplace("command", name);
}

Result<void> TraceOption::write() {
  if (!all_)
    return {};
  all_->end();
  const UserUmask users;
  return write_output(file_, trace::to_json().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

} // namespace xaas::cli

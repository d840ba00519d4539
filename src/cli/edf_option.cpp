#include "edf_option.h"

#include "images.h"
#include "settings.h"

#include <xaas/base/file.h>
#include <xaas/base/json.h>

namespace xaas::cli {

namespace {

// TOML 1.0, "String": what JSON quotes is a basic string.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string image_of(const oci::Reference& output) {
  if (output.transport == oci::Transport::squashfs)
    return fs::absolute(output.path).lexically_normal();
  return output.host + "#" + output.repository + ":" + (output.tag.empty() ? "latest" : output.tag);
}

} // namespace

void EdfOption::add(CLI::App& app) {
  app.add_option("--edf", file_,
                 "Also write an environment definition file (TOML) for CSCS' container engine: `srun "
                 "--environment=FILE PROGRAM`")
      ->type_name("FILE")
      ->check(not_empty);
}

Result<void> EdfOption::check(const oci::Reference& output) const {
  if (file_.empty())
    return {};
  if (output.transport != oci::Transport::squashfs && output.transport != oci::Transport::registry)
    return make_error(ErrorKind::usage,
                      "--edf " + file_ + ": the container engine does not read " + output.text,
                      "it reads squashfs:FILE and docker://HOST/NAME");
  return check_output("--edf", file_);
}

// Programs are started by their names, because srun takes the first word after its options for the program.
Result<void> EdfOption::write(const oci::Reference& output) const {
  if (file_.empty())
    return {};
  std::string text = "image = " + quoted(image_of(output)) + "\nentrypoint = false\n";
  std::string mounts;
  for (const std::string& bind : settings().binds())
    mounts +=
        (mounts.empty() ? "" : ", ") + quoted(bind.find(':') == std::string::npos ? bind + ":" + bind : bind);
  if (!mounts.empty())
    text += "mounts = [" + mounts + "]\n";
  return write_output(file_, text);
}

} // namespace xaas::cli

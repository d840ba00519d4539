#include "run_options.h"

#include "settings.h"

#include <xaas/base/text.h>
#include <xaas/spec/application.h>

namespace xaas::cli {

run::Mpi parse_mpi(const std::string& text) {
  return text == "host" ? run::Mpi::host : text == "image" ? run::Mpi::image : run::Mpi::automatic;
}

Result<std::vector<run::Bind>> parse_binds(const std::vector<std::string>& options) {
  std::vector<run::Bind> binds;
  // A site has nodes of several kinds.
  for (const std::string& text : settings().binds()) {
    Result<run::Bind> bind = run::parse_bind(text);
    if (!bind && bind.error().kind != ErrorKind::not_found)
      return std::move(bind).error().in(settings().at("binds").where);
    if (!bind)
      continue;
    bind->optional = true;
    binds.push_back(*std::move(bind));
  }
  for (const std::string& text : options) {
    XAAS_TRY(run::Bind bind, run::parse_bind(text));
    binds.push_back(std::move(bind));
  }
  return binds;
}

Result<std::optional<std::vector<std::string>>> parse_host(const std::string& text, run::Mpi& mpi) {
  if (text == "auto")
    return std::optional<std::vector<std::string>>();
  std::vector<std::string> libraries;
  const std::vector<std::string> names = text == "none" ? std::vector<std::string>() : split(text, ',');
  if (names.empty() && mpi == run::Mpi::automatic)
    mpi = run::Mpi::image;
  for (const std::string& name : names) {
    if (!spec::is_library_name(name) || name == "auto" || name == "none")
      return make_error(ErrorKind::usage,
                        "--host " + text + ": \"" + name + "\" is not the name of a library",
                        "auto, none, or names such as fftw3, libfftw3.so.3 or mpi");
    if (name != "mpi") {
      libraries.push_back(name);
      continue;
    }
    if (mpi == run::Mpi::image)
      return make_error(ErrorKind::usage, "--host mpi contradicts --mpi image");
    mpi = run::Mpi::host;
  }
  return std::optional(std::move(libraries));
}

} // namespace xaas::cli

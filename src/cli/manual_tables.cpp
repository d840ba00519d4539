#include "manual_tables.h"

#include <xaas/base/text.h>
#include <xaas/config/settings.h>

#include <algorithm>

namespace xaas::cli {

namespace {

// To which commands a setting's variable applies.
std::string commands_of(const config::Definition& definition) {
  const std::string key = definition.key;
  if (key == "cache_directory" || key == "cache_max_size")
    return "build deploy inspect verify cache config";
  if (key == "shared_cache")
    return "build deploy cache config";
  if (key == "temporary_directory")
    return "!completion";
  if (key == "clang" || key == "flang")
    return "build config";
  if (key == "nice")
    return "build deploy config";
  if (key == "jobs" || key == "login_jobs")
    return "--jobs";
  if (key.starts_with("build_"))
    return "deploy config";
  if (key == "offline")
    return "--authfile --llm";
  if (key == "authfile" || key == "cert_dir")
    return "--authfile";
  return definition.option ? "config --" + std::string(definition.option) : "config";
}

std::vector<ManualEntry> all_variables() {
  std::vector<ManualEntry> variables;
  for (const config::Definition& definition : config::definitions())
    if (definition.variable)
      variables.push_back({definition.variable, definition.meaning, commands_of(definition)});
  const std::vector<ManualEntry> others = {
      {"XAAS_SITE_CONFIG", "the site's settings, instead of /etc/xaas/config.json", "!completion"},
      {"SLURM_JOB_ID, PBS_JOBID, LSB_JOBID", "one that is set says that we are in a batch job",
       "build deploy config"},
      {"XAAS_LLM_KEY",
       "the key for --llm; empty: none. Where it is not set, OPENAI_API_KEY or ANTHROPIC_API_KEY, by the "
       "style of the endpoint",
       "--llm"},
      {"CURL_CA_BUNDLE, SSL_CERT_FILE",
       "the file with the certificate authorities to trust; else libcurl's own", "--authfile --llm !config"},
      {"http_proxy, https_proxy, all_proxy, no_proxy", "the proxy for network connections",
       "--authfile --llm !config"},
      {"SOURCE_DATE_EPOCH", "the date of images and the files in them, in seconds since 1970",
       "build deploy"}};
  variables.insert(variables.end(), others.begin(), others.end());
  return variables;
}

} // namespace

bool ManualEntry::applies_to(const std::string& command, const CLI::App& app) const {
  const std::vector<std::string> words = split(commands, ' ');
  if (std::find(words.begin(), words.end(), "!" + command) != words.end())
    return false;
  bool names_some = false;
  for (const std::string& word : words) {
    names_some = names_some || word[0] != '!';
    if (word == command || (word[0] == '-' && app.get_option_no_throw(word)))
      return true;
  }
  return !names_some;
}

const std::vector<ManualEntry>& exit_codes() {
  static const std::vector<ManualEntry> codes = {
      {"0", "done", ""},
      {"1",
       "the operation failed (a build, a link); a limit of time, memory or size; a worker that crashed, "
       "which is probably a fault of xaas",
       "build deploy inspect"},
      {"2",
       "usage: an unknown option, a malformed reference, an invalid spec or setting, an unknown point, value "
       "or CPU",
       ""},
      {"3", "nothing fits this system; an image cannot run there; or it is of a newer format or LLVM",
       "--authfile !config !build"},
      {"4", "not found: a file, source tree, spec, tag or image", "!config !completion !cache"},
      {"5", "access denied by a registry or the server of a language model", "--authfile --llm !config"},
      {"6", "network: no connection, no answer in time, a server in trouble", "--authfile --llm !config"},
      {"7", "integrity: digest or size does not match, a damaged or malicious image or answer",
       "--authfile --llm !config"},
      {"8", "a needed tool is missing", "build inspect run"},
      {"9", "no space, quota or permission; a file of settings that others can change", ""},
      {"130, 143", "interrupted by Ctrl-C, by SIGTERM", "!config !completion"}};
  return codes;
}

const std::vector<ManualEntry>& manual_files() {
  static const std::vector<ManualEntry> files = {
      {"/etc/xaas/config.json", "settings of the site: xaas-config.json(5)", "!completion"},
      {"~/.config/xaas/config.json", "settings of the user, or below $XDG_CONFIG_HOME", "!completion"},
      {"./xaas-config.json", "settings of a project: jobs and offline only", "!completion"},
      {"~/.cache/xaas", "what is kept for later runs; see XAAS_CACHE_DIR",
       "build deploy inspect verify cache"},
      {"$XDG_RUNTIME_DIR/containers/auth.json, ~/.config/containers/auth.json, ~/.docker/config.json",
       "credentials of registries, as `podman login` and `docker login` keep them", "--authfile !config"},
      {"~/.config/containers/certs.d, /etc/containers/certs.d, /etc/docker/certs.d",
       "certificates for registries, in a directory named HOST:PORT", "--authfile !config"},
      {"SRC/xaas.json", "the application spec of a source directory", "build init inspect"}};
  return files;
}

const std::vector<ManualEntry>& manual_variables() {
  static const std::vector<ManualEntry> variables = all_variables();
  return variables;
}

} // namespace xaas::cli

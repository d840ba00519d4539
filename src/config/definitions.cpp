#include <xaas/config/settings.h>

namespace xaas::config {

std::string name_of(Origin origin) {
  switch (origin) {
  case Origin::built_in:
    return "built-in";
  case Origin::site:
    return "site";
  case Origin::user:
    return "user";
  case Origin::project:
    return "project";
  case Origin::environment:
    return "environment";
  case Origin::command_line:
    return "command-line";
  }
  return {};
}

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> table = {
      {"cache_directory", Type::path, "XAAS_CACHE_DIR", nullptr,
       "where builds and deploys keep what later ones can use, and the logs of failed builds; else "
       "$XDG_CACHE_HOME/xaas, else ~/.cache/xaas"},
      {"cache_max_size", Type::size, "XAAS_CACHE_MAX_SIZE", nullptr,
       "what is kept there may take on disk, as in 20G; else 5G"},
      {"shared_cache", Type::path, "XAAS_SHARED_CACHE_DIR", nullptr,
       "a cache of somebody else, which is only read; an empty variable: none"},
      {"temporary_directory", Type::path, "TMPDIR", nullptr, "where temporary files go; else /tmp"},
      {"jobs", Type::count, "XAAS_JOBS", "jobs", "jobs at once; else what the machine allows"},
      {"login_jobs", Type::count, "XAAS_LOGIN_JOBS", nullptr,
       "jobs at once, at most, outside a batch job, where `jobs` does not say it; else 8"},
      {"nice", Type::count, "XAAS_NICE", nullptr,
       "niceness of builds and deploys outside a batch job, 0 to 19; else 10"},
      {"authfile", Type::path, "REGISTRY_AUTH_FILE", "authfile",
       "credentials of registries; else those that `podman login` or `docker login` keeps"},
      {"cert_dir", Type::path, "XAAS_CERT_DIR", "cert-dir", "certificates for registries; else certs.d"},
      {"offline", Type::flag, "XAAS_OFFLINE", "offline", "open no network connection"},
      {"runtimes", Type::list, "XAAS_RUNTIMES", "runtime",
       "container runtimes in the order in which they are tried"},
      {"build_processes", Type::count, "XAAS_BUILD_PROCESSES", nullptr,
       "processes and threads that a step of a build on the target may have at one time; 0: no limit; else "
       "4096"},
      {"build_memory", Type::size, "XAAS_BUILD_MEMORY", nullptr,
       "memory that all processes of such a step may have together; 0, which is built in: what the machine "
       "or the batch job has"},
      {"build_disk", Type::size, "XAAS_BUILD_DISK", nullptr,
       "what such a build may write on disk; 0: no limit; else 64G"},
      {"build_seconds", Type::count, "XAAS_BUILD_SECONDS", nullptr,
       "how long such a step may take; 0: no limit; else 43200"},
      {"build_idle_seconds", Type::count, "XAAS_BUILD_IDLE_SECONDS", nullptr,
       "how long such a step may wait without using any CPU; 0: no limit; else 900"},
      {"reuse", Type::text, "XAAS_REUSE", "reuse",
       "where deployed images are looked for and kept; an empty variable: nowhere"},
      {"verify_key", Type::path, "XAAS_VERIFY_KEY", "verify-key",
       "the key that IR images must be signed with; an empty variable: none"},
      {"clang", Type::path, "XAAS_CLANG", nullptr,
       "the clang 22 of builds; else that xaas was built with, else clang-22 on PATH"},
      {"flang", Type::path, "XAAS_FLANG", nullptr,
       "the flang 22 of builds, for Fortran; else the one beside that clang, else flang-22 on PATH"},
  };
  return table;
}

} // namespace xaas::config

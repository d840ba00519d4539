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
       "the cache of builds and deploys, and the logs of failed builds (default: $XDG_CACHE_HOME/xaas, or "
       "~/.cache/xaas)"},
      {"cache_max_size", Type::size, "XAAS_CACHE_MAX_SIZE", nullptr,
       "size limit of the cache, as in 20G (default: 5G)"},
      {"shared_cache", Type::path, "XAAS_SHARED_CACHE_DIR", nullptr,
       "a cache that is shared with other users and only read; an empty variable: none"},
      {"temporary_directory", Type::path, "TMPDIR", nullptr, "directory for temporary files (default: /tmp)"},
      {"jobs", Type::count, "XAAS_JOBS", "jobs",
       "number of parallel jobs (default: what the machine allows)"},
      {"login_jobs", Type::count, "XAAS_LOGIN_JOBS", nullptr,
       "maximum number of parallel jobs outside a batch job if `jobs` is not set (default: 8)"},
      {"nice", Type::count, "XAAS_NICE", nullptr,
       "niceness of builds and deploys outside a batch job, 0 to 19 (default: 10)"},
      {"authfile", Type::path, "REGISTRY_AUTH_FILE", "authfile",
       "registry credentials (default: those of `podman login` or `docker login`)"},
      {"cert_dir", Type::path, "XAAS_CERT_DIR", "cert-dir", "certificates for registries (default: certs.d)"},
      {"offline", Type::flag, "XAAS_OFFLINE", "offline", "open no network connections"},
      {"runtimes", Type::list, "XAAS_RUNTIMES", "runtime", "container runtimes in the order of trial"},
      {"binds", Type::paths, nullptr, nullptr,
       "files and directories that `xaas run` binds into every container, as SRC[:DST[:ro]]; one that the "
       "machine lacks is left out"},
      {"environment", Type::list, nullptr, nullptr,
       "environment variables that `xaas run` sets for every program, as K=V"},
      {"build_processes", Type::count, "XAAS_BUILD_PROCESSES", nullptr,
       "maximum number of processes and threads in a step of a build on the target; 0: no limit (default: "
       "4096)"},
      {"build_memory", Type::size, "XAAS_BUILD_MEMORY", nullptr,
       "memory limit for all processes of such a step; 0: the memory of the machine or the batch job "
       "(default: 0)"},
      {"build_disk", Type::size, "XAAS_BUILD_DISK", nullptr,
       "disk space limit of such a build; 0: no limit (default: 64G)"},
      {"build_seconds", Type::count, "XAAS_BUILD_SECONDS", nullptr,
       "time limit of such a step in seconds; 0: no limit (default: 43200)"},
      {"build_idle_seconds", Type::count, "XAAS_BUILD_IDLE_SECONDS", nullptr,
       "seconds that such a step may stay idle, without using any CPU; 0: no limit (default: 900)"},
      {"reuse", Type::text, "XAAS_REUSE", "reuse",
       "where to look for deployed images; an empty variable: nowhere"},
      {"verify_key", Type::path, "XAAS_VERIFY_KEY", "verify-key",
       "the key that must have signed an image; an empty variable: none"},
      {"certificate_identity", Type::text, "XAAS_CERTIFICATE_IDENTITY", "certificate-identity",
       "instead of a key, the identity that must have signed it; an empty variable: none"},
      {"certificate_issuer", Type::text, "XAAS_CERTIFICATE_ISSUER", "certificate-oidc-issuer",
       "the provider that knows this identity; an empty variable: none"},
      {"trusted_root", Type::path, "XAAS_TRUSTED_ROOT", "trusted-root",
       "the certificate authorities and logs that are trusted for identities; an empty variable: none"},
      {"clang", Type::path, "XAAS_CLANG", nullptr,
       "clang 22 for builds (default: the one that xaas was built with, or clang-22 on PATH)"},
      {"flang", Type::path, "XAAS_FLANG", nullptr,
       "flang 22 for builds of Fortran (default: the one beside that clang, or flang-22 on PATH)"},
  };
  return table;
}

} // namespace xaas::config

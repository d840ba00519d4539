#include "curl_library.h"

#include <dlfcn.h>

namespace xaas::http {

namespace {

// The soname of libcurl since 2006; tools/make-archive.sh includes the library of this name.
constexpr const char* soname = "libcurl.so.4";

template <typename Function> bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<CurlLibrary> load() {
  void* const library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return make_error(ErrorKind::missing_tool, std::string("cannot load ") + soname + ": " + dlerror(),
                      "network connections need libcurl 7.85 or later (Debian: libcurl4)");
  CurlLibrary curl{};
  const bool all = find(library, "curl_global_init", curl.global_init) &&
                   find(library, "curl_easy_init", curl.easy_init) &&
                   find(library, "curl_easy_reset", curl.easy_reset) &&
                   find(library, "curl_easy_setopt", curl.easy_setopt) &&
                   find(library, "curl_easy_perform", curl.easy_perform) &&
                   find(library, "curl_easy_pause", curl.easy_pause) &&
                   find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                   find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                   find(library, "curl_easy_strerror", curl.easy_strerror) &&
                   find(library, "curl_multi_init", curl.multi_init) &&
                   find(library, "curl_multi_add_handle", curl.multi_add_handle) &&
                   find(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
                   find(library, "curl_multi_perform", curl.multi_perform) &&
                   find(library, "curl_multi_poll", curl.multi_poll) &&
                   find(library, "curl_multi_info_read", curl.multi_info_read) &&
                   find(library, "curl_multi_cleanup", curl.multi_cleanup) &&
                   find(library, "curl_slist_append", curl.slist_append) &&
                   find(library, "curl_slist_free_all", curl.slist_free_all);
  if (!all || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return make_error(ErrorKind::missing_tool,
                      std::string(soname) + ": is not libcurl, or cannot be initialized");
  return curl;
}

} // namespace

Result<const CurlLibrary*> curl_library() {
  static const Result<CurlLibrary> loaded = load();
  if (!loaded)
    return Error(loaded.error());
  return &*loaded;
}

} // namespace xaas::http

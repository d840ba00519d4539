#include "downloads.h"

#include <xaas/base/digest.h>
#include <xaas/http/http.h>

#include <set>

namespace xaas::build {

namespace {

constexpr int most_redirects = 8;
constexpr uint64_t largest = uint64_t(4) << 30;

// RFC 9110, section 10.2.2: `Location` is relative to the URL of the response (RFC 3986, section 5.2, as far
// as file servers use it).
Result<std::string> redirected(const std::string& url, const http::Response& response) {
  const std::string* location = response.header("Location");
  if (!location || location->empty())
    return make_error(ErrorKind::network, http::shown(url) + ": a redirect without a location");
  if (location->find("://") < location->find_first_of("/?#"))
    return *location;
  XAAS_TRY(http::Url parts, http::parse_url(url));
  if (location->starts_with("//"))
    return parts.scheme + ":" + *location;
  parts.query.clear();
  if (location->starts_with("/"))
    parts.path = *location;
  else
    parts.path = parts.path.substr(0, parts.path.rfind('/') + 1) + *location;
  return parts.text();
}

Result<std::string> get(const std::string& first) {
  static const std::set<int> redirects = {301, 302, 303, 307, 308};
  std::string url = first;
  for (int i = 0; i <= most_redirects; ++i) {
    http::Request request;
    request.url = url;
    request.limits.total = std::chrono::milliseconds(0);
    request.limits.stall = std::chrono::seconds(60);
    request.limits.answer_bytes = largest;
    XAAS_TRY(http::Response response, http::send(request));
    if (response.status == 200)
      return std::move(response.body);
    if (!redirects.contains(response.status))
      return make_error(response.status == 404 ? ErrorKind::not_found : ErrorKind::network,
                        http::shown(url) + ": the server answered " + std::to_string(response.status));
    XAAS_TRY(std::string next, redirected(url, response));
    if (url.starts_with("https:") && !next.starts_with("https:"))
      return make_error(ErrorKind::network,
                        http::shown(url) + ": redirected from https to " + http::shown(next));
    url = std::move(next);
  }
  return make_error(ErrorKind::network, http::shown(first) + ": redirected more than " +
                                            std::to_string(most_redirects) + " times");
}

} // namespace

Result<std::map<std::string, std::string>> download(const std::vector<spec::Download>& downloads,
                                                    bool offline, Progress& progress) {
  std::map<std::string, std::string> contents;
  if (downloads.empty())
    return contents;
  progress.start("fetching files", downloads.size());
  for (const spec::Download& each : downloads) {
    if (offline)
      return make_error(ErrorKind::network,
                        http::shown(each.url) + ": must be fetched, but the build is offline");
    XAAS_TRY(std::string content, get(each.url));
    if (const std::string found = digest_of(content).hex(); found != each.sha256)
      return make_error(ErrorKind::integrity, http::shown(each.url) + ": has the digest " + found +
                                                  ", but the spec has " + each.sha256);
    contents[each.to] = std::move(content);
    progress.advance();
  }
  progress.finish();
  return contents;
}

} // namespace xaas::build

#include <xaas/base/text.h>
#include <xaas/http/http.h>

#include <algorithm>
#include <cctype>

namespace xaas::http {

namespace {

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

} // namespace

bool Url::is_loopback() const {
  const std::string name = to_lower(host);
  if (name == "localhost" || name == "::1")
    return true;
  return name.starts_with("127.") && std::count(name.begin(), name.end(), '.') == 3 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
}

std::string Url::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return scheme + "://" + (user_info.empty() ? "" : user_info + "@") + (brackets ? "[" + host + "]" : host) +
         (port.empty() ? "" : ":" + port) + path + query;
}

Result<Url> parse_url(const std::string& text) {
  const auto wrong = [](const std::string& what) {
    return make_error(ErrorKind::usage, "the URL " + what,
                      "it has the form https://HOST[:PORT]/PATH or http://HOST[:PORT]/PATH");
  };
  for (const unsigned char c : text)
    if (c <= ' ' || c >= 127 || c == '\\' || c == '"')
      return wrong("has an invalid character");
  Url url;
  const size_t colon = text.find("://");
  url.scheme = to_lower(text.substr(0, colon == std::string::npos ? 0 : colon));
  if (url.scheme != "http" && url.scheme != "https")
    return wrong("is neither http nor https");
  std::string rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string authority = rest.substr(0, end);
  const size_t question = std::min(rest.find('?', end), rest.size());
  url.path = rest.substr(end, question - end);
  url.query = rest.substr(question);
  if (const size_t at = authority.rfind('@'); at != std::string::npos) {
    url.user_info = authority.substr(0, at);
    authority.erase(0, at + 1);
  }
  size_t port = authority.rfind(':');
  if (authority.starts_with("[")) {
    const size_t close = authority.find(']');
    if (close == std::string::npos || (close + 1 != authority.size() && authority[close + 1] != ':'))
      return wrong("has a malformed address");
    url.host = authority.substr(1, close - 1);
    port = close + 1 < authority.size() ? close + 1 : std::string::npos;
  } else {
    url.host = authority.substr(0, port);
  }
  if (port != std::string::npos)
    url.port = authority.substr(port + 1);
  if (url.host.empty() || (port != std::string::npos && url.port.empty()) || !all_digits(url.port) ||
      url.port.size() > 5)
    return wrong("has no host, or a malformed port");
  return url;
}

std::string shown(const std::string& text) {
  const Result<Url> parsed = parse_url(text);
  if (!parsed)
    return "(malformed URL)";
  Url url = *parsed;
  url.user_info.clear();
  url.query.clear();
  return url.text();
}

} // namespace xaas::http

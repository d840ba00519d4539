#include "curl_library.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/http/http.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace xaas::http {

namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// What the callbacks fill. They are called by C code, so nothing may be thrown through them.
struct Answer {
  Response response;
  uint64_t limit = 0;
  bool too_large = false;
};

size_t take_body(char* data, size_t, size_t count, void* user) {
  auto& answer = *static_cast<Answer*>(user);
  if (count > answer.limit - answer.response.body.size()) {
    answer.too_large = true;
    return 0;
  }
  try {
    answer.response.body.append(data, count);
  } catch (...) {
    return 0;
  }
  return count;
}

size_t take_header(char* data, size_t, size_t count, void* user) {
  auto& headers = static_cast<Answer*>(user)->response.headers;
  try {
    const std::string_view line(data, count);
    if (line.starts_with("HTTP/"))
      headers.clear(); // an interim answer came before
    if (const size_t colon = line.find(':'); colon != std::string_view::npos && colon > 0)
      headers.push_back({std::string(line.substr(0, colon)), trim(line.substr(colon + 1))});
  } catch (...) {
    return 0;
  }
  return count;
}

int stop_if_interrupted(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return interrupt_signal() ? 1 : 0;
}

bool is_token(const std::string& text) { // RFC 9110 section 5.6.2
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(char(c)) != std::string_view::npos;
  });
}

// The file of authorities that the environment names; nullptr: libcurl's own.
const char* authorities() {
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const char* const value = std::getenv(name); value && *value)
      return value;
  return nullptr;
}

// One transfer: the handle and what must live as long as it does.
class Transfer {
public:
  explicit Transfer(const CurlLibrary& curl)
      : curl_(curl), handle_(curl.easy_init(), curl.easy_cleanup), headers_(nullptr, curl.slist_free_all) {}

  Result<Response> run(const Request& request, const Url& url) {
    if (!handle_)
      return make_error(ErrorKind::failed, "libcurl gives no handle");
    for (const Header& header : request.headers)
      if (!add_header(header))
        return make_error(ErrorKind::usage, "a header is malformed or has a control character");
    add_line("Expect:"); // do not wait for leave to send the body
    if (!set_options(request, url))
      return make_error(ErrorKind::missing_tool,
                        "libcurl lacks an option that is needed: " + std::string(error_));
    const CURLcode code = curl_.easy_perform(handle_.get());
    if (code != CURLE_OK)
      return explain(code, request);
    long status = 0;
    curl_.easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    answer_.response.status = static_cast<int>(status);
    return std::move(answer_.response);
  }

private:
  void add_line(const std::string& line) {
    curl_slist* const before = headers_.release();
    curl_slist* const longer = curl_.slist_append(before, line.c_str());
    headers_.reset(longer ? longer : before);
  }
  bool add_header(const Header& header) {
    const auto is_control = [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; };
    if (!is_token(header.name) || std::any_of(header.value.begin(), header.value.end(), is_control))
      return false;
    add_line(header.value.empty() ? header.name + ";" : header.name + ": " + header.value);
    return true;
  }

  template <typename Value> bool set(CURLoption option, Value value) {
    const CURLcode code = curl_.easy_setopt(handle_.get(), option, value);
    if (code != CURLE_OK)
      std::snprintf(error_, sizeof error_, "%d: %s", static_cast<int>(option), curl_.easy_strerror(code));
    return code == CURLE_OK;
  }

  bool set_options(const Request& request, const Url& url) {
    answer_.limit = request.limits.answer_bytes;
    bool good = set(CURLOPT_ERRORBUFFER, error_) && set(CURLOPT_URL, url.text().c_str()) &&
                set(CURLOPT_PROTOCOLS_STR, "http,https") && set(CURLOPT_FOLLOWLOCATION, 0L) &&
                set(CURLOPT_SSL_VERIFYPEER, 1L) && set(CURLOPT_SSL_VERIFYHOST, 2L) &&
                set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) &&
                set(CURLOPT_USERAGENT, "xaas/" XAAS_VERSION) && set(CURLOPT_HTTPHEADER, headers_.get()) &&
                set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.limits.connect.count())) &&
                set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.limits.total.count())) &&
                set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request.limits.answer_bytes)) &&
                set(CURLOPT_WRITEFUNCTION, &take_body) && set(CURLOPT_WRITEDATA, &answer_) &&
                set(CURLOPT_HEADERFUNCTION, &take_header) && set(CURLOPT_HEADERDATA, &answer_) &&
                set(CURLOPT_NOPROGRESS, 0L) && set(CURLOPT_XFERINFOFUNCTION, &stop_if_interrupted);
    if (url.is_loopback())
      good = good && set(CURLOPT_PROXY, ""); // what is for this machine stays on it
    if (const char* const file = authorities())
      good = good && set(CURLOPT_CAINFO, file) && set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    if (request.method == "HEAD")
      good = good && set(CURLOPT_NOBODY, 1L);
    else if (!request.body.empty() || request.method == "POST" || request.method == "PUT")
      good = good && set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size())) &&
             set(CURLOPT_POSTFIELDS, request.body.c_str());
    return good && set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }

  Error explain(CURLcode code, const Request& request) const {
    const std::string what = printable(*error_ ? error_ : curl_.easy_strerror(code));
    if (answer_.too_large || code == CURLE_FILESIZE_EXCEEDED)
      return make_error(ErrorKind::integrity,
                        "the answer has more than " + std::to_string(answer_.limit) + " bytes");
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
      return make_error(ErrorKind::interrupted, "interrupted");
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WRITE_ERROR:
      return make_error(ErrorKind::failed, what);
    case CURLE_URL_MALFORMAT:
      return make_error(ErrorKind::usage, what);
    case CURLE_OPERATION_TIMEDOUT:
      return make_error(ErrorKind::network, "no complete answer within " +
                                                std::to_string(request.limits.total.count() / 1000) +
                                                " s: " + what);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return make_error(ErrorKind::network, what,
                        "SSL_CERT_FILE names the file with the certificate authorities to trust");
    default:
      return make_error(ErrorKind::network, what);
    }
  }

  const CurlLibrary& curl_;
  std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> handle_;
  std::unique_ptr<curl_slist, decltype(&::curl_slist_free_all)> headers_;
  Answer answer_;
  char error_[CURL_ERROR_SIZE] = {};
};

} // namespace

const std::string* Response::header(std::string_view name) const {
  for (const Header& header : headers)
    if (same_name(header.name, name))
      return &header.value;
  return nullptr;
}

Result<Response> send(const Request& request) {
  XAAS_TRY(const Url url, parse_url(request.url));
  const std::string where = shown(url.text());
  if (!is_token(request.method))
    return make_error(ErrorKind::usage, where + ": the request's method is malformed");
  XAAS_CHECK(check_interrupt());
  XAAS_TRY(const CurlLibrary* const curl, curl_library());
  return Transfer(*curl).run(request, url).in(where);
}

std::optional<std::chrono::seconds> retry_after(const Response& response, int64_t now) {
  const std::string* const text = response.header("Retry-After");
  if (!text)
    return std::nullopt;
  int64_t number = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (code == std::errc::result_out_of_range && text->front() != '-')
    return std::chrono::seconds(std::chrono::hours(24 * 365)); // longer than anybody waits
  if (code == std::errc() && end == text->data() + text->size() && number >= 0)
    return std::chrono::seconds(number);
  // RFC 9110 section 5.6.7; the two obsolete forms of dates are not taken.
  std::tm date{};
  const char* const rest = strptime(text->c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (!rest || *rest)
    return std::nullopt;
  return std::chrono::seconds(std::max<int64_t>(0, int64_t(timegm(&date)) - now));
}

} // namespace xaas::http

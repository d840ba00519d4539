#include "curl_library.h"

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/http/http.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

namespace xaas::http {

namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Filled by the callbacks, which C code calls and which therefore must not throw.
struct Answer {
  explicit Answer(const Request& of) : request(of) {}
  const Request& request;
  Response response;
  bool too_large = false;
  std::optional<Error> refused; // by the request's functions
  uint64_t uploaded = 0;
  const std::string* unread = nullptr; // what the reader has not taken yet; it must stay bounded
  bool paused = false;
};

constexpr size_t enough_unread = 512 * 1024;

bool goes_to_sink(const Answer& answer) {
  return answer.request.sink && answer.response.status / 100 == 2;
}

size_t take_body(char* data, size_t, size_t count, void* user) {
  auto& answer = *static_cast<Answer*>(user);
  try {
    if (answer.unread && answer.unread->size() >= enough_unread) {
      answer.paused = true; // libcurl will pass these bytes again
      return CURL_WRITEFUNC_PAUSE;
    }
    if (goes_to_sink(answer)) {
      if (auto taken = answer.request.sink(answer.response, {data, count}); !taken) {
        answer.refused = std::move(taken).error();
        return 0;
      }
      return count;
    }
    if (count > answer.request.limits.answer_bytes - answer.response.body.size()) {
      answer.too_large = true;
      return 0;
    }
    answer.response.body.append(data, count);
  } catch (...) {
    return 0;
  }
  return count;
}

size_t take_header(char* data, size_t, size_t count, void* user) {
  Response& response = static_cast<Answer*>(user)->response;
  try {
    const std::string_view line(data, count);
    if (line.starts_with("HTTP/")) {
      response.headers.clear(); // of an interim response
      response.status = 0;
      if (const size_t space = line.find(' '); space != std::string_view::npos)
        std::from_chars(line.data() + space + 1, line.data() + line.size(), response.status);
    }
    if (const size_t colon = line.find(':'); colon != std::string_view::npos && colon > 0)
      response.headers.push_back({std::string(line.substr(0, colon)), trim(line.substr(colon + 1))});
  } catch (...) {
    return 0;
  }
  return count;
}

size_t give_body(char* buffer, size_t, size_t capacity, void* user) {
  auto& answer = *static_cast<Answer*>(user);
  try {
    const uint64_t left = answer.request.upload->size - answer.uploaded;
    if (left == 0)
      return 0;
    Result<size_t> given = answer.request.upload->read(
        answer.uploaded, buffer, static_cast<size_t>(std::min<uint64_t>(capacity, left)));
    if (given && *given > 0 && *given <= left) {
      answer.uploaded += *given;
      return *given;
    }
    answer.refused =
        given ? make_error(ErrorKind::failed, "the body to send ends too early") : std::move(given).error();
  } catch (...) {
  }
  return CURL_READFUNC_ABORT;
}

int seek_body(void* user, curl_off_t offset, int origin) {
  auto& answer = *static_cast<Answer*>(user);
  if (origin != SEEK_SET || offset < 0)
    return CURL_SEEKFUNC_FAIL;
  answer.uploaded = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

int stop_if_interrupted(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return interrupt_signal() ? 1 : 0;
}

bool is_token(const std::string& text) { // RFC 9110 section 5.6.2
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(char(c)) != std::string_view::npos;
  });
}

// The file of certificate authorities that the environment names; nullptr: libcurl's default.
const char* authorities() {
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const char* const value = std::getenv(name); value && *value)
      return value;
  return nullptr;
}

using Handle = std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)>;

// The authorities of the file and those of the request together, because libcurl takes a file or bytes.
Result<std::string> joined_authorities(const std::string& more) {
  std::string text;
  if (const char* const file = authorities()) {
    XAAS_TRY(text, read_file(file, uint64_t(64) << 20));
  }
  return text + "\n" + more;
}

// One transfer over a handle, and everything that must live as long.
class Transfer {
public:
  Transfer(const CurlLibrary& curl, CURL* handle, const Request& request)
      : curl_(curl), handle_(handle), headers_(nullptr, curl.slist_free_all), answer_(request) {}
  // The handle keeps its connections and nothing else of this request.
  ~Transfer() { curl_.easy_reset(handle_); }

  Result<void> prepare(const Url& url) {
    const Request& request = answer_.request;
    for (const Header& header : request.headers)
      if (!add_header(header))
        return make_error(ErrorKind::usage, "a header is malformed or has a control character");
    add_line("Expect:"); // do not wait for permission to send the body
    if (!request.tls.authorities.empty()) {
      XAAS_TRY(authorities_, joined_authorities(request.tls.authorities));
    }
    if (!set_options(request, url) || !set_tls(request.tls) || !set_body(request))
      return make_error(ErrorKind::missing_tool, "libcurl lacks a required option: " + std::string(error_));
    return {};
  }

  // The result of the transfer.
  Result<void> finish(CURLcode code) {
    distrusted_ = code == CURLE_PEER_FAILED_VERIFICATION;
    if (code != CURLE_OK)
      return explain(code, answer_.request);
    long status = 0;
    curl_.easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    answer_.response.status = static_cast<int>(status);
    return {};
  }

  Result<Response> run(const Url& url) {
    XAAS_CHECK(prepare(url));
    XAAS_CHECK(finish(curl_.easy_perform(handle_)));
    return std::move(answer_.response);
  }

  const Response& response() const { return answer_.response; }
  void pause_when_unread(const std::string& text) { answer_.unread = &text; }
  void go_on() {
    if (std::exchange(answer_.paused, false))
      curl_.easy_pause(handle_, CURLPAUSE_CONT);
  }
  bool distrusted() const { return distrusted_; }

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
    const CURLcode code = curl_.easy_setopt(handle_, option, value);
    if (code != CURLE_OK)
      std::snprintf(error_, sizeof error_, "%d: %s", static_cast<int>(option), curl_.easy_strerror(code));
    return code == CURLE_OK;
  }

  bool set_options(const Request& request, const Url& url) {
    const Limits& limits = request.limits;
    bool good = set(CURLOPT_ERRORBUFFER, error_) && set(CURLOPT_URL, url.text().c_str()) &&
                set(CURLOPT_PROTOCOLS_STR, "http,https") && set(CURLOPT_FOLLOWLOCATION, 0L) &&
                set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) &&
                set(CURLOPT_USERAGENT, "xaas/" XAAS_VERSION) && set(CURLOPT_HTTPHEADER, headers_.get()) &&
                set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count())) &&
                set(CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total.count())) &&
                set(CURLOPT_WRITEFUNCTION, &take_body) && set(CURLOPT_WRITEDATA, &answer_) &&
                set(CURLOPT_HEADERFUNCTION, &take_header) && set(CURLOPT_HEADERDATA, &answer_) &&
                set(CURLOPT_NOPROGRESS, 0L) && set(CURLOPT_XFERINFOFUNCTION, &stop_if_interrupted);
    // An optimization that may fail, and does: after a host name that could not be resolved, libcurl 7.88
    // keeps the handle's buffer and refuses another size for it.
    curl_.easy_setopt(handle_, CURLOPT_BUFFERSIZE, 256 * 1024L);
    if (!request.sink && request.method != "HEAD") // whose Content-Length is that of a body it does not send
      good = good && set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(limits.answer_bytes));
    if (limits.stall.count() > 0)
      good = good && set(CURLOPT_LOW_SPEED_LIMIT, 1024L) &&
             set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits.stall.count()));
    if (url.is_loopback())
      good = good && set(CURLOPT_PROXY, ""); // loopback requests never leave this machine
    return good;
  }

  bool set_tls(const Tls& tls) {
    bool good = set(CURLOPT_SSL_VERIFYPEER, tls.verify ? 1L : 0L) &&
                set(CURLOPT_SSL_VERIFYHOST, tls.verify ? 2L : 0L);
    const char* const file = authorities();
    if (!authorities_.empty()) { // replaces libcurl's file of authorities, not its directory
      curl_blob blob{authorities_.data(), authorities_.size(), CURL_BLOB_NOCOPY};
      good = good && set(CURLOPT_CAINFO_BLOB, &blob);
    } else if (file) {
      good = good && set(CURLOPT_CAINFO, file);
    }
    if (file)
      good = good && set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    if (!tls.certificate.empty())
      good = good && set(CURLOPT_SSLCERT, tls.certificate.c_str()) && set(CURLOPT_SSLKEY, tls.key.c_str());
    return good;
  }

  bool set_body(const Request& request) {
    bool good = true;
    if (request.upload)
      good = set(CURLOPT_UPLOAD, 1L) && set(CURLOPT_UPLOAD_BUFFERSIZE, 1024 * 1024L) &&
             set(CURLOPT_READFUNCTION, &give_body) && set(CURLOPT_READDATA, &answer_) &&
             set(CURLOPT_SEEKFUNCTION, &seek_body) && set(CURLOPT_SEEKDATA, &answer_) &&
             set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.upload->size));
    else if (request.method == "HEAD")
      good = set(CURLOPT_NOBODY, 1L);
    else if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
             request.method == "PATCH")
      good = set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size())) &&
             set(CURLOPT_POSTFIELDS, request.body.c_str());
    return good && set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }

  Error explain(CURLcode code, const Request& request) const {
    if (answer_.refused)
      return *answer_.refused;
    const std::string what = printable(*error_ ? error_ : curl_.easy_strerror(code));
    if (answer_.too_large || code == CURLE_FILESIZE_EXCEEDED)
      return make_error(ErrorKind::integrity,
                        "the answer has more than " + std::to_string(request.limits.answer_bytes) + " bytes");
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
      return make_error(ErrorKind::interrupted, "interrupted");
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WRITE_ERROR:
      return make_error(ErrorKind::failed, what);
    case CURLE_URL_MALFORMAT:
      return make_error(ErrorKind::usage, what);
    case CURLE_OPERATION_TIMEDOUT:
      return make_error(ErrorKind::network, request.limits.total.count() > 0
                                                ? "no complete answer within " +
                                                      std::to_string(request.limits.total.count() / 1000) +
                                                      " s: " + what
                                                : what);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return make_error(ErrorKind::network, what,
                        "SSL_CERT_FILE names the file with the certificate authorities to trust");
    default:
      return make_error(ErrorKind::network, what);
    }
  }

  const CurlLibrary& curl_;
  CURL* handle_;
  std::unique_ptr<curl_slist, decltype(&::curl_slist_free_all)> headers_;
  Answer answer_;
  bool distrusted_ = false;
  std::string authorities_;
  char error_[CURL_ERROR_SIZE] = {};
};

} // namespace

const std::string* Response::header(std::string_view name) const {
  for (const Header& header : headers)
    if (same_name(header.name, name))
      return &header.value;
  return nullptr;
}

// A transfer that only proceeds while it is read. `ready` holds the bytes that arrived but were not read yet;
// nothing more is taken from the connection until it is empty, so it stays small.
struct Reading {
  Reading(const CurlLibrary& library, Request of, std::string shown)
      : curl(library), request(std::move(of)), where(std::move(shown)) {
    request.sink = [this](const Response&, std::string_view piece) -> Result<void> {
      ready += piece;
      return {};
    };
  }
  ~Reading() {
    if (transfer)
      curl.multi_remove_handle(multi, easy);
  }

  Result<void> start(CURLM* on, CURL* handle, const Url& url) {
    multi = on, easy = handle;
    transfer.emplace(curl, easy, request);
    transfer->pause_when_unread(ready);
    if (auto prepared = transfer->prepare(url); !prepared) {
      transfer.reset();
      return prepared;
    }
    if (curl.multi_add_handle(multi, easy) != CURLM_OK) {
      transfer.reset();
      return make_error(ErrorKind::failed, "libcurl cannot start the transfer");
    }
    return {};
  }

  // Waits until there is something to read, or for the end.
  Result<void> wait() {
    while (ready.size() == taken && !ended) {
      ready.clear();
      taken = 0;
      XAAS_CHECK(check_interrupt());
      transfer->go_on();
      int running = 0;
      if (curl.multi_perform(multi, &running) != CURLM_OK)
        return make_error(ErrorKind::failed, "libcurl cannot continue the transfer");
      int left = 0;
      while (const CURLMsg* const message = curl.multi_info_read(multi, &left))
        if (message->msg == CURLMSG_DONE && message->easy_handle == easy) {
          ended = true;
          if (auto finished = transfer->finish(message->data.result); !finished)
            broken = std::move(finished).error();
        }
      if (!ended && ready.empty())
        curl.multi_poll(multi, nullptr, 0, 500, nullptr);
    }
    // Bytes that arrived before the failure are read first.
    return broken && ready.size() == taken ? Result<void>(*broken) : Result<void>();
  }

  const CurlLibrary& curl;
  Request request;
  std::string where;
  std::optional<Transfer> transfer;
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  std::string ready;
  size_t taken = 0; // bytes of `ready`
  bool ended = false;
  std::optional<Error> broken;
};

struct Client::State {
  const CurlLibrary* curl = nullptr;
  Handle handle{nullptr, nullptr};
  // For bodies that are read incrementally; has connections of its own.
  Handle reader{nullptr, nullptr};
  std::unique_ptr<CURLM, decltype(&::curl_multi_cleanup)> multi{nullptr, nullptr};
  std::optional<Reading> reading;
  bool distrusted = false;
};

Client::Client() = default;
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<void> Client::prepare(const Request& request, const std::string& where) {
  if (!is_token(request.method))
    return make_error(ErrorKind::usage, where + ": the request's method is malformed");
  XAAS_CHECK(check_interrupt());
  if (state_)
    return {};
  XAAS_TRY(const CurlLibrary* const curl, curl_library());
  auto state = std::make_unique<State>();
  state->curl = curl;
  state->handle = Handle(curl->easy_init(), curl->easy_cleanup);
  if (!state->handle)
    return make_error(ErrorKind::failed, where + ": libcurl cannot create a handle");
  state_ = std::move(state);
  return {};
}

Result<Response> Client::send(const Request& request) {
  XAAS_TRY(const Url url, parse_url(request.url));
  const std::string where = shown(url.text());
  XAAS_CHECK(prepare(request, where));
  Transfer transfer(*state_->curl, state_->handle.get(), request);
  Result<Response> response = transfer.run(url);
  state_->distrusted = transfer.distrusted();
  return std::move(response).in(where);
}

Result<Response> Client::open(const Request& request) {
  XAAS_TRY(const Url url, parse_url(request.url));
  const std::string where = shown(url.text());
  XAAS_CHECK(prepare(request, where));
  const CurlLibrary& curl = *state_->curl;
  if (!state_->multi) {
    state_->multi = {curl.multi_init(), curl.multi_cleanup};
    state_->reader = Handle(curl.easy_init(), curl.easy_cleanup);
    if (!state_->multi || !state_->reader)
      return make_error(ErrorKind::failed, where + ": libcurl cannot create a handle");
  }
  state_->reading.reset();
  Reading& reading = state_->reading.emplace(curl, request, where);
  XAAS_CHECK(reading.start(state_->multi.get(), state_->reader.get(), url).in(where));
  const Result<void> begun = reading.wait();
  state_->distrusted = reading.transfer->distrusted();
  if (!begun) {
    Error error = begun.error();
    state_->reading.reset();
    return std::move(error).in(where);
  }
  return reading.transfer->response();
}

Result<size_t> Client::read(char* buffer, size_t capacity) {
  if (!state_ || !state_->reading)
    return make_error(ErrorKind::failed, "no transfer is open for reading");
  Reading& reading = *state_->reading;
  XAAS_CHECK(reading.wait().in(reading.where));
  const size_t count = reading.ready.copy(buffer, capacity, reading.taken);
  reading.taken += count;
  return count;
}

bool Client::distrusted() const {
  return state_ && state_->distrusted;
}

Result<Response> send(const Request& request) {
  return Client().send(request);
}

std::optional<std::chrono::seconds> retry_after(const Response& response, int64_t now) {
  const std::string* const text = response.header("Retry-After");
  if (!text)
    return std::nullopt;
  int64_t number = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (code == std::errc::result_out_of_range && text->front() != '-')
    return std::chrono::seconds(std::chrono::hours(24 * 365)); // longer than anyone waits
  if (code == std::errc() && end == text->data() + text->size() && number >= 0)
    return std::chrono::seconds(number);
  // RFC 9110 section 5.6.7, without the two obsolete date formats.
  std::tm date{};
  const char* const rest = strptime(text->c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (!rest || *rest)
    return std::nullopt;
  return std::chrono::seconds(std::max<int64_t>(0, int64_t(timegm(&date)) - now));
}

} // namespace xaas::http

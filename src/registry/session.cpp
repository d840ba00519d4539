#include "session.h"

#include "certificates.h"
#include <xaas/base/base64.h>

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <poll.h>

namespace xaas::registry {

namespace {

using namespace std::chrono_literals;

constexpr unsigned max_redirects = 5;
constexpr auto longest_pause = 60'000ms;

Result<void> really_sleep(std::chrono::milliseconds time) {
  for (const auto until = std::chrono::steady_clock::now() + time;
       std::chrono::steady_clock::now() < until;) {
    XAAS_CHECK(check_interrupt());
    poll(nullptr, 0, 50);
  }
  return {};
}

std::string own_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

// docker.io is a name for users; its server has another one.
std::string machine_of(const std::string& host) {
  return host == "docker.io" ? "registry-1.docker.io" : host;
}

std::string origin_of(const http::Url& url) {
  const std::string port = !url.port.empty() ? url.port : url.scheme == "https" ? "443" : "80";
  return url.scheme + "://" + to_lower(url.host) + ":" + port;
}

std::string in_query(const std::string& text) { // RFC 3986 section 2.1
  std::string encoded;
  for (const unsigned char c : text)
    if (std::isalnum(c) || std::string_view("-._~/:,").find(char(c)) != std::string_view::npos)
      encoded += static_cast<char>(c);
    else
      encoded += std::string("%") + "0123456789ABCDEF"[c >> 4] + "0123456789ABCDEF"[c & 15];
  return encoded;
}

// Resolves a path or an address relative to another one.
Result<http::Url> follow(const http::Url& from, const std::string& location) {
  if (location.find("://") != std::string::npos && location.find("://") < location.find_first_of("/?"))
    return http::parse_url(location);
  http::Url url = from;
  url.query.clear();
  if (location.starts_with("//"))
    return http::parse_url(from.scheme + ":" + location);
  if (location.starts_with("/"))
    url.path.clear();
  else
    url.path.erase(url.path.rfind('/') + 1);
  return http::parse_url(http::Url{url.scheme, "", url.host, url.port, url.path, ""}.text() + location);
}

} // namespace

bool is_passing(int status) {
  return status == 408 || status == 429 || (status >= 500 && status < 600 && status != 501);
}

void Backoff::start_again(unsigned tries) {
  left_ = tries;
  next_ = 500ms;
}

Result<bool> Backoff::pause(const http::Response* response) {
  if (left_ == 0)
    return false;
  --left_;
  std::chrono::milliseconds time = next_;
  next_ = std::min<std::chrono::milliseconds>(2 * next_, longest_pause);
  if (response)
    if (const auto asked = http::retry_after(*response, std::time(nullptr))) {
      if (*asked > longest_pause) // fails at once, because waiting would look like hanging
        return false;
      time = std::max<std::chrono::milliseconds>(time, *asked);
    }
  XAAS_CHECK(access_.sleep ? access_.sleep(time) : really_sleep(time));
  return true;
}

Result<std::unique_ptr<Session>> Session::open(const oci::Reference& reference, Access access,
                                               Purpose purpose) {
  if (access.offline)
    return make_error(ErrorKind::network, reference.text + ": in a registry, but --offline was given",
                      "copy it to a layout first: `skopeo copy " + reference.text + " oci:DIR:TAG`");
  if (!access.environment)
    access.environment = own_environment;
  if (const auto adjust = access.adjust)
    adjust(reference.host, access);
  std::unique_ptr<Session> session(new Session(reference, std::move(access), purpose));
  XAAS_CHECK(session->connect().in(reference.text));
  return session;
}

std::string Session::url(const std::string& path) const {
  return root_ + "/v2/" + reference_.repository + "/" + path;
}

void Session::also_read(const std::string& repository) {
  if (repository != reference_.repository)
    readable_.insert(repository);
}

bool Session::is_own(const std::string& url) const {
  const Result<http::Url> other = http::parse_url(url), own = http::parse_url(root_);
  return other && own && origin_of(*other) == origin_of(*own);
}

// GET /v2/ (OCI distribution specification, "Determining Support"). Nothing if no registry speaks this
// scheme.
Result<std::optional<http::Response>> Session::ping(const std::string& scheme) {
  root_ = scheme + "://" + machine_of(reference_.host);
  Call call{.url = root_ + "/v2/"};
  Result<http::Response> response = client_.send(request_of(call, call.url));
  if (!response)
    return std::move(response).error();
  const bool known = response->status == 200 || response->status == 401 || response->status == 403;
  if (known || is_passing(response->status))
    return std::optional<http::Response>(*std::move(response));
  if (response->status == 400) // the response of a TLS server to plain HTTP
    return make_error(ErrorKind::network, http::shown(call.url) + ": status 400");
  return std::optional<http::Response>();
}

Result<void> Session::connect() {
  const std::string machine = machine_of(reference_.host);
  XAAS_TRY(const http::Url address, http::parse_url("https://" + machine + "/"));
  XAAS_TRY(tls_, find_certificates(access_.cert_dir, reference_.host, access_.environment));
  tls_.verify = access_.tls_verify;
  const bool plain = address.is_loopback() || !access_.tls_verify;
  for (Backoff backoff(access_, 2);;) {
    Result<std::optional<http::Response>> answer = ping("https");
    const bool certificate = !answer && client_.distrusted();
    if (plain && !certificate && (!answer || !*answer)) {
      if (answer || answer.error().kind == ErrorKind::network)
        if (Result<std::optional<http::Response>> second = ping("http"); second)
          answer = std::move(second);
    }
    if (answer && *answer && !is_passing((*answer)->status)) {
      XAAS_TRY(credentials_, find_credentials({access_.authfile, access_.environment}, reference_.host,
                                              reference_.repository));
      return (*answer)->status == 401 ? sign_in(challenges_of(**answer)) : Result<void>();
    }
    if (answer && !*answer)
      return make_error(ErrorKind::network, reference_.host + ": not a registry (GET /v2/)");
    if (!answer && (answer.error().kind != ErrorKind::network || certificate)) {
      Error error = std::move(answer).error();
      if (certificate)
        error.hint = "put the certificate authority into ~/.config/containers/certs.d/" + reference_.host +
                     "/ca.crt, or set --cert-dir or SSL_CERT_FILE";
      return error;
    }
    XAAS_TRY(const bool again, backoff.pause(answer ? &**answer : nullptr));
    if (!again)
      return answer ? refusal(**answer, "checking for the registry API") : std::move(answer).error();
  }
}

http::Request Session::request_of(const Call& call, const std::string& url) const {
  http::Request request;
  request.method = call.method;
  request.url = url;
  request.headers = call.headers;
  request.body = call.body;
  request.upload = call.upload;
  request.sink = call.sink;
  request.limits.answer_bytes = call.answer_bytes;
  // A blob may take any time as long as it makes progress; after an upload the registry computes digests.
  const bool moves = call.sink || call.upload || call.in_pieces;
  request.limits.total = moves ? 0ms : 120'000ms;
  request.limits.stall = call.upload ? 5 * access_.stall : moves ? access_.stall : 0s;
  request.tls.verify = tls_.verify;
  if (is_own(url)) {
    request.tls = tls_;
    if (const auto token = tokens_.find(key_of_scopes()); token != tokens_.end())
      request.headers.push_back({"Authorization", token->second});
  }
  return request;
}

std::unique_ptr<Session> Session::another() const {
  std::unique_ptr<Session> copy(new Session(reference_, access_, purpose_));
  copy->tls_ = tls_;
  copy->root_ = root_;
  copy->credentials_ = credentials_;
  copy->readable_ = readable_;
  copy->tokens_ = tokens_;
  return copy;
}

Sessions::Lent Sessions::lend() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!pattern_)
    pattern_ = idle_.front()->another();
  std::unique_ptr<Session> session;
  if (idle_.empty()) {
    session = pattern_->another();
  } else {
    session = std::move(idle_.back());
    idle_.pop_back();
  }
  return {session.release(), [this](Session* back) {
            const std::lock_guard<std::mutex> returning(mutex_);
            idle_.emplace_back(back);
          }};
}

Result<http::Response> Session::send(const Call& call) {
  return send_with(&http::Client::send, call);
}

Result<http::Response> Session::open(Call call) {
  call.in_pieces = true;
  return send_with(&http::Client::open, call);
}

Result<http::Response> Session::send_with(Sender sender, const Call& call) {
  std::string url = call.url;
  bool signed_in = false;
  for (unsigned redirects = 0;;) {
    XAAS_TRY(http::Response response, (client_.*sender)(request_of(call, url)));
    if (response.status == 401 && is_own(url) && !signed_in) {
      signed_in = true;
      XAAS_CHECK(sign_in(challenges_of(response)));
      continue;
    }
    if (response.status == 401 || response.status == 403)
      return refusal(response, http::shown(url));
    const bool moved = response.status == 301 || response.status == 302 || response.status == 303 ||
                       response.status == 307 || response.status == 308;
    if (!moved || (call.method != "GET" && call.method != "HEAD"))
      return response;
    if (++redirects > max_redirects)
      return make_error(ErrorKind::integrity, http::shown(call.url) + ": too many redirects");
    XAAS_TRY(url, resolve(url, response));
  }
}

Result<http::Response> Session::send_patiently(const Call& call) {
  for (Backoff backoff(access_, access_.tries);;) {
    Result<http::Response> response = send(call);
    const bool again = response ? is_passing(response->status)
                                : response.error().kind == ErrorKind::network && !client_.distrusted();
    if (!again)
      return response;
    XAAS_TRY(const bool waited, backoff.pause(response ? &*response : nullptr));
    if (!waited)
      return response;
  }
}

Result<std::string> Session::resolve(const std::string& from, const http::Response& response) const {
  const std::string* const location = response.header("Location");
  const std::string where = http::shown(from);
  if (!location || location->empty())
    return make_error(ErrorKind::integrity, where + ": the response lacks a Location");
  XAAS_TRY(const http::Url before, http::parse_url(from));
  const Result<http::Url> to = follow(before, *location);
  if (!to)
    return make_error(ErrorKind::integrity, where + ": the Location of the response is not a URL");
  if (before.scheme == "https" && to->scheme != "https")
    return make_error(ErrorKind::integrity, where + ": the response leads from https to " + to->scheme +
                                                ": " + http::shown(to->text()));
  if (!to->user_info.empty())
    return make_error(ErrorKind::integrity, where + ": the response leads to a URL with a password");
  return to->text();
}

std::string Session::key_of_scopes() const {
  std::string scopes =
      "repository:" + reference_.repository + (purpose_ == Purpose::push ? ":pull,push" : ":pull");
  for (const std::string& other : readable_)
    scopes += " repository:" + other + ":pull";
  return scopes;
}

Result<void> Session::sign_in(const std::vector<Challenge>& challenges) {
  for (const Challenge& challenge : challenges)
    if (challenge.scheme == "bearer")
      return get_token(challenge);
  for (const Challenge& challenge : challenges)
    if (challenge.scheme == "basic")
      return use_basic();
  return denied("the registry requires an unsupported kind of authentication");
}

Result<void> Session::use_basic() {
  if (credentials_.user.empty() && credentials_.password.empty())
    return denied("no credentials for " + reference_.host);
  const std::string value = "Basic " + encode_base64(credentials_.user + ":" + credentials_.password);
  const std::string key = key_of_scopes();
  if (const auto used = tokens_.find(key); used != tokens_.end() && used->second == value)
    return denied("the registry does not take these credentials");
  tokens_[key] = value;
  return {};
}

// The protocol of the project "distribution" (spec/auth/token, spec/auth/oauth).
Result<void> Session::get_token(const Challenge& challenge) {
  const Result<http::Url> realm = http::parse_url(challenge.parameter("realm"));
  if (!realm || !realm->user_info.empty())
    return make_error(ErrorKind::integrity, reference_.host + ": it names no URL to get a token from");
  // This request carries the password, so it uses plain HTTP only if the registry does.
  if (realm->scheme != "https" && !root_.starts_with("http://") && !realm->is_loopback())
    return make_error(ErrorKind::integrity, reference_.host +
                                                ": it wants the password sent without TLS, to " +
                                                http::shown(realm->text()));
  const std::string scopes = key_of_scopes(), service = challenge.parameter("service");
  Call call;
  std::string form = service.empty() ? "" : "service=" + in_query(service);
  if (!credentials_.identity_token.empty()) {
    call.method = "POST";
    call.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
    call.body = "grant_type=refresh_token&client_id=xaas&" + form + (form.empty() ? "" : "&") +
                "scope=" + in_query(scopes) + "&refresh_token=" + in_query(credentials_.identity_token);
    call.url = realm->text();
  } else {
    for (const std::string& scope : split(scopes, ' '))
      form += (form.empty() ? "scope=" : "&scope=") + in_query(scope);
    call.url = realm->text() + (realm->query.empty() ? "?" : "&") + form;
    if (!credentials_.user.empty() || !credentials_.password.empty())
      call.headers.push_back(
          {"Authorization", "Basic " + encode_base64(credentials_.user + ":" + credentials_.password)});
  }
  tokens_.erase(scopes);
  for (Backoff backoff(access_, access_.tries);;) {
    const Result<http::Response> response = client_.send(request_of(call, call.url));
    if (response && response->status == 200) {
      // The parser's message would quote the response.
      const Result<Json> json = parse_json(response->body, "");
      for (const char* key : {"token", "access_token"})
        if (json && json->is_object())
          if (const auto token = json->find(key);
              token != json->end() && token->is_string() && !token->get<std::string>().empty()) {
            tokens_[scopes] = "Bearer " + token->get<std::string>();
            return {};
          }
      return make_error(ErrorKind::integrity, http::shown(call.url) + ": the answer has no token in it");
    }
    if (response && !is_passing(response->status)) {
      const bool no = response->status == 401 || response->status == 403 || response->status == 400;
      if (no && !readable_.empty()) { // some servers grant all or nothing; retry with only what we need
        readable_.clear();
        return get_token(challenge);
      }
      return no ? denied(http::shown(call.url) + " grants no token")
                : refusal(*response, http::shown(call.url));
    }
    if (!response && (response.error().kind != ErrorKind::network || client_.distrusted()))
      return Error(response.error());
    XAAS_TRY(const bool again, backoff.pause(response ? &*response : nullptr));
    if (!again)
      return response ? refusal(*response, http::shown(call.url)) : Error(response.error());
  }
}

Error Session::denied(const std::string& what) const {
  const std::string key = reference_.host;
  return make_error(
      ErrorKind::denied, "access to " + reference_.host + "/" + reference_.repository + " denied: " + what,
      "log in with `podman login " + key + "` or `skopeo login " + key +
          "`, or use --authfile; registries may also deny access to a repository that does not exist");
}

// The registry's explanation of an error (OCI distribution specification, "Error Codes"), without anything
// that we sent.
std::string Session::said(const http::Response& response) const {
  const Result<Json> json = parse_json(response.body, "");
  if (!json || !json->is_object() || !json->contains("errors"))
    return {};
  const Json& errors = (*json)["errors"];
  if (!errors.is_array() || errors.empty() || !errors[0].is_object())
    return {};
  std::string text;
  for (const char* key : {"code", "message"})
    if (const Json& error = errors[0]; error.contains(key) && error[key].is_string())
      text += (text.empty() ? "" : ", ") + error[key].get<std::string>();
  text = printable(text.substr(0, 200));
  std::vector<std::string> secrets = {credentials_.password, credentials_.identity_token};
  for (const auto& [scopes, value] : tokens_)
    secrets.push_back(value.substr(value.find(' ') + 1));
  for (const std::string& secret : secrets)
    if (!secret.empty() && text.find(secret.substr(0, 16)) != std::string::npos)
      return {};
  return text.empty() ? "" : ": " + text;
}

Error Session::refusal(const http::Response& response, const std::string& what) const {
  const int status = response.status;
  if (status == 401 || status == 403)
    return denied("status " + std::to_string(status) + said(response));
  const ErrorKind kind = status == 404                   ? ErrorKind::not_found
                         : is_passing(status)            ? ErrorKind::network
                         : status >= 200 && status < 400 ? ErrorKind::integrity
                                                         : ErrorKind::failed;
  return make_error(kind, what + ": status " + std::to_string(status) + said(response));
}

} // namespace xaas::registry

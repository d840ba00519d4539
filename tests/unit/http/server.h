// A small HTTP server on the loopback for tests: real sockets, a thread of its own, one connection at a time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace xaas::testing {

class HttpServer {
public:
  // From a whole request (head and body) the bytes to send; the connection is closed then. Nothing to send:
  // closed at once. Called from the server's thread.
  using Handler = std::function<std::string(const std::string& request)>;

  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener_, 8) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no loopback socket");
    port_ = ntohs(address.sin_port);
    for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
      unsetenv(name); // the loopback is not behind it
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    stopping_ = true;
    thread_.join();
    close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // One that answers nothing for as long as it is there.
  struct Silent {};
  explicit HttpServer(Silent)
      : HttpServer([this](const std::string&) {
          while (!stopping())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          return std::string();
        }) {}

  std::string url(const std::string& path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int port() const { return port_; }
  bool stopping() const { return stopping_; }
  std::vector<std::string> requests() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return requests_;
  }

  static std::string answer(int status, const std::string& body, const std::string& headers = {}) {
    return "HTTP/1.1 " + std::to_string(status) +
           " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n" + headers + "\r\n" + body;
  }

private:
  bool readable(int descriptor) const {
    while (!stopping_) {
      pollfd wait = {descriptor, POLLIN, 0};
      if (poll(&wait, 1, 20) > 0)
        return true;
    }
    return false;
  }
  std::string read_request(int connection) const {
    std::string text;
    char buffer[4096];
    while (readable(connection)) {
      const ssize_t count = recv(connection, buffer, sizeof buffer, 0);
      if (count <= 0)
        break;
      text.append(buffer, static_cast<size_t>(count));
      if (text[0] < 'A' || text[0] > 'Z')
        break; // no HTTP
      const size_t head = text.find("\r\n\r\n");
      if (head == std::string::npos)
        continue;
      const size_t length = text.find("Content-Length: ");
      const size_t body = length < head ? std::stoul(text.substr(length + 16)) : 0;
      if (text.size() >= head + 4 + body)
        break;
    }
    return text;
  }
  void serve() {
    while (readable(listener_)) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0)
        continue;
      const std::string request = read_request(connection);
      {
        const std::lock_guard<std::mutex> guard(mutex_);
        requests_.push_back(request);
      }
      const std::string reply = handler_(request);
      for (size_t sent = 0; sent < reply.size() && !stopping_;) {
        const ssize_t count = send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (count <= 0)
          break;
        sent += static_cast<size_t>(count);
      }
      close(connection);
    }
  }

  Handler handler_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_; // last: it uses the others
};

} // namespace xaas::testing

#pragma once
// An HTTP/1.1 server on 127.0.0.1 that does what a test tells it to: answer, stream, cut off, hang.
//
// Every connection has a thread; every request is given to the test's handler on that thread.
// stop() (or the destructor) breaks all connections and waits for the threads.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::informer::test {

struct Received {
  std::string method;
  std::string target;  // path and query
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  [[nodiscard]] std::string header(std::string_view name) const;
  [[nodiscard]] bool asks(std::string_view part) const {
    return target.find(part) != std::string::npos;
  }
};

// One answer in the making. Functions return false once the client has gone.
class Exchange {
 public:
  virtual ~Exchange() = default;
  using Headers = std::vector<std::pair<std::string, std::string>>;
  virtual bool reply(int status, const std::string& body, const Headers& headers = {}) = 0;
  virtual bool open_stream() = 0;  // 200 and chunked
  virtual bool chunk(const std::string& text) = 0;
  virtual bool end_stream() = 0;
  virtual void cut() = 0;  // breaks the connection in the middle of whatever it was
  // Waits until the server is stopped or `for_at_most` is over, sending nothing.
  virtual void hang(std::chrono::milliseconds for_at_most = std::chrono::minutes(1)) = 0;
};

class ScriptedServer {
 public:
  using Handler = std::function<void(const Received&, Exchange&)>;
  explicit ScriptedServer(Handler handler);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:PORT"
  [[nodiscard]] std::vector<Received> received() const;
  // How many requests so far have `part` in "METHOD target".
  [[nodiscard]] std::size_t count(std::string_view part) const;
  // Waits until there are `n` of them; false after half a minute.
  [[nodiscard]] bool wait_for(std::string_view part, std::size_t n) const;
  [[nodiscard]] std::size_t connections() const;
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer::test

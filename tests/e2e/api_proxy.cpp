#include "tests/e2e/api_proxy.hpp"

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <cctype>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace plimsoll::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Upstream = asio::ssl::stream<tcp::socket>;

constexpr std::chrono::milliseconds kLook{5};  // how often a connection looks whether it may go on

// What a request is about, from its first line.
struct Head {
  std::string method;
  std::string target;
  [[nodiscard]] bool is_watch() const {
    return method == "GET" &&
           (target.find("watch=true") != target.npos || target.find("watch=1") != target.npos);
  }
};

// Takes one complete request off the front of what a client has sent; nothing: it is not complete.
std::optional<std::string> take_request(std::string& bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  if (end == bytes.npos) return std::nullopt;
  size_t size = end + 4;
  std::string headers = bytes.substr(0, size);
  for (char& c : headers) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (const size_t at = headers.find("\r\ncontent-length:"); at != headers.npos)
    size += std::stoul(headers.substr(at + 17));
  if (bytes.size() < size) return std::nullopt;
  std::string request = bytes.substr(0, size);
  bytes.erase(0, size);
  return request;
}

Head head_of(const std::string& request) {
  const size_t first = request.find(' ');
  const size_t second = request.find(' ', first + 1);
  return {request.substr(0, first), request.substr(first + 1, second - first - 1)};
}

}  // namespace

struct ApiProxy::Impl {
  struct Connection;
  explicit Impl(const KubeAccess& access)
      : tls(asio::ssl::context::tls_client),
        acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    tls.load_verify_file(access.ca_file);
    tls.set_verify_mode(asio::ssl::verify_peer);
    if (!access.token.empty()) credential = "Authorization: Bearer " + access.token + "\r\n";
    upstream_port =
        static_cast<uint16_t>(std::stoul(access.server.substr(access.server.rfind(':') + 1)));
  }

  // ---- what is held; guarded by mutex
  struct Rule {
    What what;
    std::string method;
    std::string path_part;
  };

  bool is_held(What what, const Head& head) {
    const std::lock_guard lock(mutex);
    return rule && rule->what == what && head.method == rule->method &&
           head.target.find(rule->path_part) != head.target.npos;
  }
  bool is_held_watch(const Head& head) {
    const std::lock_guard lock(mutex);
    return !held_watches.empty() && head.is_watch() &&
           head.target.find(held_watches) != head.target.npos;
  }
  bool is_refused(const Head& head) {
    const std::lock_guard lock(mutex);
    return !refused_path.empty() && head.target.find(refused_path) != head.target.npos;
  }
  void count(int& counter) {
    const std::lock_guard lock(mutex);
    ++counter;
    changed.notify_all();
  }

  bool may_pass_on() {
    const std::lock_guard lock(mutex);
    return passing_on;
  }

  // ---- threads
  void accept() {
    acceptor.non_blocking(true);
    while (!stopping) {
      auto io = std::make_shared<asio::io_context>();
      tcp::socket client(*io);
      boost::system::error_code error;
      acceptor.accept(client, error);
      if (error) {
        std::this_thread::sleep_for(kLook);
        continue;
      }
      const std::lock_guard lock(mutex);
      connections.emplace_back(
          [this, io, moved = std::make_shared<tcp::socket>(std::move(client))] {
            run(*io, std::move(*moved));
          });
    }
  }

  void run(asio::io_context& io_of_it, tcp::socket client);  // until either side goes away

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      changed.notify_all();
    }
    if (acceptor_thread.joinable()) acceptor_thread.join();
    for (std::thread& connection : connections) connection.join();
  }

  asio::io_context io;  // of the acceptor only; each connection has its own, and a thread
  asio::ssl::context tls;
  tcp::acceptor acceptor;
  uint16_t upstream_port = 0;
  std::string credential;  // a header line
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Rule> rule;
  std::string held_watches;
  std::string refused_path;
  bool passing_on = false;
  int held = 0;
  int passed_on = 0;
  std::vector<std::thread> connections;
  std::thread acceptor_thread;
};

// One client and its connection to the API server, on a thread of their own.
struct ApiProxy::Impl::Connection {
  Connection(Impl& proxy_, asio::io_context& io_, tcp::socket client_)
      : proxy(proxy_), io(io_), client(std::move(client_)), upstream(io_, proxy_.tls) {}

  void serve() {
    client.non_blocking(false);
    client.set_option(tcp::no_delay(true));
    upstream.set_verify_callback(asio::ssl::host_name_verification("127.0.0.1"));
    upstream.next_layer().connect({asio::ip::address_v4::loopback(), proxy.upstream_port});
    upstream.next_layer().set_option(tcp::no_delay(true));
    upstream.handshake(Upstream::client);
    read_client();
    read_upstream();
    while (!proxy.stopping && !over) {
      io.restart();
      io.run_for(kLook);
      if (current.is_watch() && proxy.is_refused(current)) return;
      send_requests();
      send_answers();
    }
  }

  void read_client() {
    client.async_read_some(asio::buffer(from_client), [this](auto error, size_t size) {
      if (error) {
        client_gone = true;
        over = over || held_request.empty();
        return;
      }
      requests.append(from_client.data(), size);
      read_client();
    });
  }
  void read_upstream() {
    upstream.async_read_some(asio::buffer(from_upstream), [this](auto error, size_t size) {
      if (error) {
        over = true;
        return;
      }
      answers.append(from_upstream.data(), size);
      read_upstream();
    });
  }

  void send_requests() {
    if (!held_request.empty()) {
      if (!proxy.may_pass_on()) return;
      was_held = true;
      send(std::exchange(held_request, {}));
    }
    auto request = take_request(requests);
    if (!request) return;
    const Head asked = head_of(*request);
    if (proxy.is_refused(asked)) return refuse();
    current = asked;
    was_held = answer_counted = false;
    if (proxy.is_held(What::kRequest, current)) {
      held_request = std::move(*request);
      proxy.count(proxy.held);
    } else {
      send(std::move(*request));
    }
  }
  void refuse() {
    asio::write(client, asio::buffer(std::string("HTTP/1.1 503 Service Unavailable\r\n"
                                                 "Content-Type: text/plain\r\n"
                                                 "Content-Length: 16\r\n\r\n"
                                                 "not served yet.\n")));
  }
  void send(std::string request) {
    request.insert(request.find("\r\n") + 2, proxy.credential);
    const auto bytes = std::make_shared<std::string>(std::move(request));
    asio::async_write(upstream, asio::buffer(*bytes), [this, bytes](auto error, size_t) {
      if (error) over = true;
    });
  }

  void send_answers() {
    if (answers.empty() || proxy.is_held_watch(current)) return;
    if (proxy.is_held(What::kAnswer, current) && answers.starts_with("HTTP/1.1 2")) {
      if (!std::exchange(answer_counted, true)) proxy.count(proxy.held);
      return;
    }
    if (!client_gone) asio::write(client, asio::buffer(answers));
    answers.clear();
    if (std::exchange(was_held, false)) proxy.count(proxy.passed_on);
    over = over || client_gone;
  }

  Impl& proxy;
  asio::io_context& io;
  tcp::socket client;
  Upstream upstream;
  std::vector<char> from_client = std::vector<char>(64 * 1024);
  std::vector<char> from_upstream = std::vector<char>(64 * 1024);
  std::string requests;  // arrived, not taken yet
  std::string answers;   // arrived, not passed on yet
  std::string held_request;
  Head current;
  bool was_held = false;
  bool answer_counted = false;
  bool client_gone = false;
  bool over = false;
};

void ApiProxy::Impl::run(asio::io_context& io_of_it, tcp::socket client) {
  try {
    Connection(*this, io_of_it, std::move(client)).serve();
  } catch (const std::exception&) {  // it went away in the middle of something
  }
}

ApiProxy::ApiProxy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ApiProxy::~ApiProxy() {
  impl_->stop();
}

Result<std::unique_ptr<ApiProxy>> ApiProxy::start(const KubeAccess& upstream) {
  try {
    auto impl = std::make_unique<Impl>(upstream);
    Impl& running = *impl;
    impl->acceptor_thread = std::thread([&running] { running.accept(); });
    return std::unique_ptr<ApiProxy>(new ApiProxy(std::move(impl)));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInternal, std::string("the proxy does not start: ") + error.what());
  }
}

std::string ApiProxy::server() const {
  return "http://127.0.0.1:" + std::to_string(impl_->acceptor.local_endpoint().port());
}

void ApiProxy::hold(What what, const std::string& method, const std::string& path_part) {
  const std::lock_guard lock(impl_->mutex);
  impl_->rule = Impl::Rule{what, method, path_part};
}

bool ApiProxy::wait_held(std::chrono::milliseconds timeout) {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, timeout, [this] { return impl_->held > 0; });
}

bool ApiProxy::pass_on(std::chrono::milliseconds timeout) {
  std::unique_lock lock(impl_->mutex);
  if (impl_->held == 0) return false;
  impl_->passing_on = true;
  impl_->changed.notify_all();
  return impl_->changed.wait_for(lock, timeout, [this] { return impl_->passed_on > 0; });
}

void ApiProxy::hold_watches(const std::string& path_part) {
  const std::lock_guard lock(impl_->mutex);
  impl_->held_watches = path_part;
}

void ApiProxy::refuse(const std::string& path_part) {
  const std::lock_guard lock(impl_->mutex);
  impl_->refused_path = path_part;
}

}  // namespace plimsoll::test

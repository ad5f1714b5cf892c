#include "cli/control_socket.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <cstdlib>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "cli/socket_place.hpp"
#include "framework/base/log.hpp"

namespace plimsoll::cli {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using Local = net::local::stream_protocol;

constexpr const char* kNotAllowed =
    R"({"ok":false,"error":"only the user whom the scheduler runs as, and root, are answered"})";
constexpr const char* kTooLong = R"({"ok":false,"error":"the question is too long"})";
constexpr const char* kTooMany = R"({"ok":false,"error":"too many clients at once; try again"})";

class Connection;

// State shared by connections. Owned by the server, and by replies, which may outlive it.
struct Shared {
  explicit Shared(ControlSocket::Handler handler_) : handler(std::move(handler_)) {}
  ControlSocket::Handler handler;
  std::set<Connection*> connections;  // socket's thread
  net::io_context io;                 // last: its handlers refer to the other members
};

bool is_ours(Local::socket& socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

// One client. Everything runs on the socket's thread. Kept alive by what it waits for: I/O, or a
// reply.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Local::socket socket, Shared& shared)
      : shared_(shared), socket_(std::move(socket)), deadline_(shared.io) {
    shared_.connections.insert(this);
  }
  ~Connection() { shared_.connections.erase(this); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void begin(const std::shared_ptr<Shared>& shared) {
    whole_ = shared;
    if (!is_ours(socket_)) return say_goodbye(kNotAllowed);
    if (shared_.connections.size() > kMaxClients) return say_goodbye(kTooMany);
    read();
  }

  void close() {
    error_code ignored;
    deadline_.cancel();
    socket_.close(ignored);
  }

 private:
  void read() {
    limit_time();
    net::async_read_until(socket_, net::dynamic_buffer(input_, kMaxQuestion), '\n',
                          [self = shared_from_this()](error_code error, size_t length) {
                            self->deadline_.cancel();
                            if (error == net::error::not_found) return self->say_goodbye(kTooLong);
                            if (error) return;
                            const std::string question = self->input_.substr(0, length - 1);
                            self->input_.erase(0, length);
                            self->answer(question);
                          });
  }

  void answer(const std::string& question) {
    const std::shared_ptr<Shared> shared = whole_.lock();
    if (!shared) return;
    // If nobody replies, the last copy of the token is destroyed, and with it the connection: on
    // the socket's thread, whoever held the token.
    const std::shared_ptr<Connection> token(
        this, [shared, self = shared_from_this()](Connection*) mutable {
          net::post(shared->io, [self = std::move(self)] {});
        });
    ControlSocket::Reply reply = [shared, token](ControlSocket::Answer make) {
      net::post(shared->io, [self = token->shared_from_this(), make = std::move(make)] {
        std::string text;
        try {
          text = make();
        } catch (const std::exception& error) {
          log_error("an answer could not be made", {{"error", error.what()}});
          return;
        }
        self->write(std::move(text), true);
      });
    };
    try {
      shared_.handler(question, std::move(reply));
    } catch (const std::exception& error) {
      log_error("a question could not be answered", {{"error", error.what()}});
    }
  }

  void say_goodbye(const char* text) { write(text, false); }

  void write(std::string text, bool go_on) {
    output_ = std::move(text);
    output_ += '\n';
    written_ = 0;
    write_some(go_on);
  }

  // In pieces: a slow reader of a large answer is fine as long as it makes progress.
  void write_some(bool go_on) {
    limit_time();
    constexpr size_t kPiece = 256 * 1024;
    socket_.async_write_some(
        net::buffer(output_.data() + written_, std::min(kPiece, output_.size() - written_)),
        [self = shared_from_this(), go_on](error_code error, size_t length) {
          self->deadline_.cancel();
          if (error) return;
          self->written_ += length;
          if (self->written_ < self->output_.size()) return self->write_some(go_on);
          self->output_.clear();
          if (go_on) self->read();
        });
  }

  void limit_time() {
    deadline_.expires_after(kPatience);
    deadline_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      error_code ignored;
      if (!error && self) self->socket_.close(ignored);
    });
  }

  Shared& shared_;
  std::weak_ptr<Shared> whole_;
  Local::socket socket_;
  net::steady_timer deadline_;
  std::string input_;
  std::string output_;
  size_t written_ = 0;
};

bool is_own_folder(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid();
}

}  // namespace

std::string default_socket_path() {
  constexpr const char* kName = "/scheduler.sock";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return std::string(runtime) + "/plimsoll" + kName;
  if (geteuid() == 0 || is_own_folder("/run/plimsoll")) return std::string("/run/plimsoll") + kName;
  return "/tmp/plimsoll-" + std::to_string(geteuid()) + kName;
}

// ---- the server

struct ControlSocket::Impl {
  Impl(SocketPlace taken, Handler handler)
      : place(std::move(taken)),
        shared(std::make_shared<Shared>(std::move(handler))),
        acceptor(shared->io),
        pause(shared->io) {}

  Result<void> open() {
    error_code error;
    acceptor.open(Local(), error);
    if (!error) acceptor.bind(Local::endpoint(place.path()), error);
    if (error) {
      return fail(ErrorCode::kInvalid, "listening on " + place.path() + ": " + error.message());
    }
    if (auto closed = place.close_to_others(); !closed) return closed;
    acceptor.listen(net::socket_base::max_listen_connections, error);
    if (error) {
      return fail(ErrorCode::kInvalid, "listening on " + place.path() + ": " + error.message());
    }
    return {};
  }

  void accept() {
    acceptor.async_accept([this](error_code error, Local::socket socket) {
      if (!acceptor.is_open()) return;
      if (!error) {
        std::make_shared<Connection>(std::move(socket), *shared)->begin(shared);
        return accept();
      }
      // Probably out of file descriptors: do not retry at once.
      pause.expires_after(std::chrono::milliseconds(200));
      pause.async_wait([this](error_code cancelled) {
        if (!cancelled && acceptor.is_open()) accept();
      });
    });
  }

  SocketPlace place;
  std::shared_ptr<Shared> shared;
  Local::acceptor acceptor;
  net::steady_timer pause;
  std::thread thread;
};

ControlSocket::ControlSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<ControlSocket>> ControlSocket::listen(const std::string& path,
                                                             Handler handler) {
  auto place = SocketPlace::take(path);
  if (!place) return fail(place.error());
  auto impl = std::make_unique<Impl>(std::move(*place), std::move(handler));
  if (auto opened = impl->open(); !opened) return fail(opened.error());
  impl->accept();
  impl->thread = std::thread([impl = impl.get()] {
    try {
      impl->shared->io.run();
    } catch (const std::exception& error) {
      log_error("the control socket ended with an exception", {{"error", error.what()}});
    }
  });
  return std::unique_ptr<ControlSocket>(new ControlSocket(std::move(impl)));
}

ControlSocket::~ControlSocket() {
  stop();
}

void ControlSocket::stop() {
  if (!impl_->thread.joinable()) return;
  // The thread ends once nothing is pending.
  net::post(impl_->shared->io, [impl = impl_.get()] {
    error_code ignored;
    impl->acceptor.close(ignored);
    impl->pause.cancel();
    for (Connection* connection : impl->shared->connections) connection->close();
  });
  impl_->thread.join();
  impl_->place.remove_socket();
}

const std::string& ControlSocket::path() const {
  return impl_->place.path();
}

// ---- the client

Result<std::string> ask_scheduler(const std::string& path, const std::string& question,
                                  std::chrono::milliseconds timeout) {
  if (path.empty() || path.size() > 107) {
    return fail(ErrorCode::kInvalid, "not the path of a socket: \"" + path + "\"");
  }
  net::io_context io;
  Local::socket socket(io);
  error_code error;
  socket.connect(Local::endpoint(path), error);
  if (error) {
    return fail(ErrorCode::kNotFound,
                "no scheduler answers at " + path + " (" + error.message() +
                    "); is it running, as this user and on this machine? See --socket");
  }
  std::string line;
  bool timed_out = false;
  net::steady_timer deadline(io, timeout);
  deadline.async_wait([&](error_code cancelled) {
    if (cancelled) return;
    timed_out = true;
    error_code ignored;
    socket.close(ignored);
  });
  const std::string text = question + "\n";
  net::async_write(socket, net::buffer(text), [&](error_code write_error, size_t) {
    if (write_error) error = write_error;
    // Read even after a failed write: the server tells rejected clients the reason.
    net::async_read_until(socket, net::dynamic_buffer(line), '\n',
                          [&](error_code read_error, size_t length) {
                            deadline.cancel();
                            error = read_error;
                            if (!read_error) line.resize(length - 1);
                          });
  });
  io.run();
  if (timed_out) {
    return fail(ErrorCode::kUnavailable, "the scheduler at " + path + " did not answer within " +
                                             std::to_string(timeout.count() / 1000) + " s");
  }
  if (error) {
    return fail(ErrorCode::kUnavailable,
                "the scheduler at " + path + " hung up; it may be stopping");
  }
  return line;
}

}  // namespace plimsoll::cli

#pragma once
// A local (unix) socket on which a running scheduler answers questions: one JSON text a line, one
// line of answer for each line of question, in order. Only the user whom the scheduler runs as, and
// root, are answered.
//
// One thread serves all clients. Questions longer than kMaxQuestion, clients that send or read
// nothing for kPatience, and more than kMaxClients at once are turned away, so that nobody can hold
// it up.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::cli {

inline constexpr size_t kMaxQuestion = 64 * 1024;
inline constexpr size_t kMaxClients = 32;
inline constexpr std::chrono::seconds kPatience{30};

// Where the scheduler listens and its clients look unless they are told otherwise: in
// $XDG_RUNTIME_DIR/plimsoll; without that variable in /run/plimsoll for root and whoever owns that
// folder, in /tmp/plimsoll-<user id> for all others.
[[nodiscard]] std::string default_socket_path();

class ControlSocket {
 public:
  // Makes the text of an answer (without a newline); runs on the socket's thread.
  using Answer = std::function<std::string()>;
  // To be called once, on any thread, at any time, also after stop(). If it is destroyed without a
  // call, the client is disconnected.
  using Reply = std::function<void(Answer)>;
  // Called on the socket's thread; must not block.
  using Handler = std::function<void(std::string_view question, Reply reply)>;

  // Listens. The folder is made (mode 0700) if it is not there; it must belong to the user and be
  // writable by nobody else. A socket that a dead process left behind is replaced; kConflict: a
  // living one listens there.
  [[nodiscard]] static Result<std::unique_ptr<ControlSocket>> listen(const std::string& path,
                                                                     Handler handler);
  ~ControlSocket();  // stop()
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Disconnects everybody, ends the thread, removes the socket. Not from the handler; idempotent.
  void stop();

  [[nodiscard]] const std::string& path() const;

 private:
  struct Impl;
  explicit ControlSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One question to a scheduler that listens at `path`, and its answer. Blocks for `timeout` at most.
// kNotFound: nobody listens there.
[[nodiscard]] Result<std::string> ask_scheduler(const std::string& path,
                                                const std::string& question,
                                                std::chrono::milliseconds timeout);

}  // namespace plimsoll::cli

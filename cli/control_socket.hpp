#pragma once
// A local (unix) socket on which a running scheduler answers questions: one line of JSON per
// question and one per answer, in order. Only the user of the scheduler's process and root are
// answered.
//
// One thread serves all clients. Questions longer than kMaxQuestion, clients that send or read
// nothing for kPatience, and more than kMaxClients clients at once are rejected, so that nobody can
// block it.

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

// The default path for the scheduler and its clients: in $XDG_RUNTIME_DIR/plimsoll. Without that
// variable: in /run/plimsoll for root and the owner of that folder, in /tmp/plimsoll-<user id> for
// all others.
[[nodiscard]] std::string default_socket_path();

class ControlSocket {
 public:
  // Returns the text of an answer (without a newline); runs on the socket's thread.
  using Answer = std::function<std::string()>;
  // Call it once, on any thread, at any time, even after stop(). If it is destroyed without a call,
  // the client is disconnected.
  using Reply = std::function<void(Answer)>;
  // Called on the socket's thread; must not block.
  using Handler = std::function<void(std::string_view question, Reply reply)>;

  // Listens. Creates the folder (mode 0700) if it does not exist; it must belong to the user, and
  // nobody else may write to it. A socket of a dead process is replaced; kConflict: a live one
  // listens there.
  [[nodiscard]] static Result<std::unique_ptr<ControlSocket>> listen(const std::string& path,
                                                                     Handler handler);
  ~ControlSocket();  // calls stop()
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Disconnects all clients, ends the thread, removes the socket. Must not be called by the
  // handler; idempotent.
  void stop();

  [[nodiscard]] const std::string& path() const;

 private:
  struct Impl;
  explicit ControlSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Sends one question to the scheduler that listens at `path` and returns its answer. Blocks for at
// most `timeout`. kNotFound: nobody listens there.
[[nodiscard]] Result<std::string> ask_scheduler(const std::string& path,
                                                const std::string& question,
                                                std::chrono::milliseconds timeout);

}  // namespace plimsoll::cli

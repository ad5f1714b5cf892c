#pragma once
// A gRPC server on a unix socket, for tests: unary calls, one answer for each method.

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace plimsoll::node::test {

struct GrpcAnswer {
  int status = 0;
  std::string text = {};     // grpc-message
  std::string message = {};  // encoded; with status 0
  bool hang = false;         // never answers
  bool cut = false;          // closes the connection instead
};

class GrpcServer {
 public:
  using Handler = std::function<GrpcAnswer(const std::string& method, const std::string& request)>;

  // Listens at once. Calls `handler` on threads of its own, one call after the other.
  GrpcServer(const std::filesystem::path& socket, Handler handler);
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // Closes every connection.
  void drop_connections() { ++drops_; }

 private:
  void run();
  void serve(int fd);

  Handler handler_;
  int listener_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<int> drops_{0};
  std::mutex calling_;
  std::vector<std::thread> connections_;  // of thread_ until it ends
  std::thread thread_;
};

}  // namespace plimsoll::node::test

#pragma once
// The runtime's side of NRI (github.com/containerd/nri, pkg/adaptation), as far as a plugin sees
// it: a socket, registration, configuration, what is there already, and containers that are made.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace plimsoll::node::test {

struct RuntimePod {
  std::string uid;
  std::map<std::string, std::string> annotations;
};

// What a container was given, or why it was not made.
struct Adjusted {
  std::string error;
  std::map<std::string, std::string> annotations, variables;
  std::vector<std::string> devices;  // "/dev/nvidia0 c 195:0"
  bool operator==(const Adjusted&) const = default;
};

class FakeRuntime {
 public:
  FakeRuntime();
  ~FakeRuntime();

  [[nodiscard]] std::filesystem::path socket() const { return folder_ / "nri.sock"; }
  // Takes a plugin's connection, and goes through what comes before the first container: returns
  // the plugin's name and what it subscribed to ("plimsoll 90 8"). `there`: pods with a container
  // each, which has this annotation or not; told in two pieces.
  std::string accept(const std::vector<std::pair<RuntimePod, bool>>& there = {});
  Adjusted create(const RuntimePod& pod);
  // Of 64 KiB of arguments, in frames of at most this many bytes.
  void split_frames(std::size_t size) { frame_ = size; }
  // The runtime ends; it can accept again.
  void drop();

 private:
  std::string call(const std::string& method, const std::string& payload);
  void send(std::uint32_t connection, std::uint32_t stream, std::uint8_t type,
            const std::string& data);
  std::string receive(std::uint32_t connection);  // the data of the next message on it

  plimsoll::test::TempDir folder_{"plimsoll-runtime"};
  int listener_ = -1;
  int fd_ = -1;
  std::size_t frame_ = 1 << 20;
  std::uint32_t stream_ = 1;
  std::map<std::uint32_t, std::string> bytes_;
};

}  // namespace plimsoll::node::test

#pragma once
// The devices that a node's CDI files name: what its container runtime can give by name
// (github.com/cncf-tags/container-device-interface; nvidia-ctk cdi generate writes them).

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace plimsoll::node {

// One thread at a time.
class CdiFiles {
 public:
  // `root`: the node's, with etc/cdi and var/run/cdi.
  explicit CdiFiles(std::filesystem::path root) : root_(std::move(root)) {}

  // As "nvidia.com/gpu=GPU-1". Reads the files again if there are others, or one was written. One
  // that cannot be read, or is larger than 8 MiB, names nothing; the log says so.
  [[nodiscard]] std::shared_ptr<const std::set<std::string>> read();

 private:
  using Seen = std::tuple<std::filesystem::path, std::filesystem::file_time_type, std::uintmax_t>;

  const std::filesystem::path root_;
  std::vector<Seen> seen_;
  std::shared_ptr<const std::set<std::string>> names_ =
      std::make_shared<const std::set<std::string>>();
};

}  // namespace plimsoll::node

#pragma once
// Reads everything that a kubelet says at one moment: its state files and its pod-resources API.
// Blocks; one thread at a time.

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "framework/base/result.hpp"
#include "node/kubelet/snapshot.hpp"

namespace plimsoll::node {

// Where a kubelet keeps its files. Its device plugins' folder does not follow --root-dir.
struct KubeletPaths {
  std::filesystem::path root = "/var/lib/kubelet";
  std::filesystem::path device_plugins = "/var/lib/kubelet/device-plugins";

  [[nodiscard]] std::filesystem::path cpu_state() const { return root / "cpu_manager_state"; }
  [[nodiscard]] std::filesystem::path memory_state() const { return root / "memory_manager_state"; }
  [[nodiscard]] std::filesystem::path device_state() const {
    return device_plugins / "kubelet_internal_checkpoint";
  }
  [[nodiscard]] std::filesystem::path socket() const {
    return root / "pod-resources" / "kubelet.sock";
  }
};

// Which file it is: another one has another value. A file that is replaced by a rename and a socket
// that is created again are other files. 0: there is none.
[[nodiscard]] std::uint64_t identity_of(const std::filesystem::path& file);

// Reads again, a few times, while files change during it. Fails with the errors of the API
// (pod_resources.hpp); kInvalid: a file cannot be read, and which.
[[nodiscard]] Result<KubeletView> read_kubelet(const KubeletPaths& paths);

}  // namespace plimsoll::node

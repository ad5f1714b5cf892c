#pragma once
// The file from which the program real-kubelet starts (nodeFile of main.go).

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/kubelet/real_kubelet.hpp"

namespace plimsoll::test {

// `dir` is the kubelet's own folder, `port` where it serves HTTPS on 127.0.0.1.
[[nodiscard]] nlohmann::json node_file(const RealKubeletSettings& settings,
                                       const std::filesystem::path& dir,
                                       const std::filesystem::path& kubeconfig, std::uint16_t port);

}  // namespace plimsoll::test

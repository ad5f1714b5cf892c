#pragma once
// Where a kubelet's settings come from: its configuration file, or what it says itself.

#include <filesystem>
#include <stop_token>
#include <string>

#include "framework/base/result.hpp"
#include "informer/http/http_client.hpp"
#include "node/machine/machine.hpp"

namespace plimsoll::node {

// A KubeletConfiguration as YAML or JSON. What flags and drop-in files (--config-dir) say is not in
// it. Fails with kNotFound or kInvalid: what is wrong with the file.
[[nodiscard]] Result<KubeletSettings> settings_from_file(const std::filesystem::path& file);

// Asks `path` ("/configz", or "/api/v1/nodes/NAME/proxy/configz" of the API server): the settings
// in effect. Blocks. Fails as HttpClient and response_error do.
[[nodiscard]] Result<KubeletSettings> settings_from_server(informer::HttpClient& client,
                                                           const std::string& path,
                                                           const std::stop_token& stop);

}  // namespace plimsoll::node

#pragma once
// Where settings come from: the kubelet's configuration file, or what it says itself; the table of
// kinds of devices; CDI files.

#include <filesystem>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "informer/http/http_client.hpp"
#include "node/devices/type_rules.hpp"
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

// Rules (parse_type_rules) as YAML or JSON. Fails with kNotFound or kInvalid.
[[nodiscard]] Result<std::vector<TypeRule>> type_rules_from_file(const std::filesystem::path& file);

// The devices that a CDI file names, as "nvidia.com/gpu=GPU-1". Fails with kNotFound or kInvalid.
[[nodiscard]] Result<std::set<std::string>> cdi_names_from_file(const std::filesystem::path& file);

}  // namespace plimsoll::node

#pragma once
// Kubeconfig files as they are written: their named entries, merged over all files of one load, and
// the values in them. What the entries mean is in kubeconfig.cpp and kubeconfig_user.cpp.
//
// YAML::Exception may come out of everything here. Blocks on small files only.

#include <yaml-cpp/yaml.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::informer {

// A named entry (cluster, context or user) and the file that it was found in.
struct KubeconfigEntry {
  YAML::Node body;  // a map
  std::string file;
};
using KubeconfigEntries = std::vector<std::pair<std::string, KubeconfigEntry>>;  // by name

// The merged view over all files of one load.
struct Kubeconfig {
  std::string current_context;
  KubeconfigEntries clusters, contexts, users;
  std::string files;  // for messages
};

// Adds a file: what an earlier one has set stays. Fails with the file and what is wrong with it.
[[nodiscard]] Result<void> merge_file(const std::string& file, Kubeconfig& merged);

// The entry of that name, or null.
[[nodiscard]] const KubeconfigEntry* find_entry(const KubeconfigEntries& entries,
                                                const std::string& name);
// "there are: 'a', 'b'", for messages.
[[nodiscard]] std::string names_of(const KubeconfigEntries& entries);

// A scalar of a map; empty if there is none.
[[nodiscard]] std::string text_of(const YAML::Node& map, const char* key);
[[nodiscard]] bool is_true(const YAML::Node& map, const char* key);

// Paths in a kubeconfig are relative to the file that holds them.
[[nodiscard]] std::string resolve(const std::string& path, const std::string& file);

struct Pem {
  std::string text;
  std::string file;  // empty if it is inline
};

// Reads `key`-data (base64) or, without it, `key` (a file). Neither: empty. `where` names the entry
// in messages.
[[nodiscard]] Result<Pem> load_pem(const KubeconfigEntry& entry, const std::string& key,
                                   const std::string& where);

}  // namespace plimsoll::informer

#pragma once
// `plimsoll export`: what simulations and explanations need of a cluster.

#include <string>
#include <vector>

namespace plimsoll::cli {

struct ExportArguments {
  std::string kubeconfig;  // empty: kubectl's rules
  std::string context;
  std::string output = "-";  // a file; "-": standard output
  bool anonymise = false;
  // Whose plugins are asked what they watch: those of the profile, without one all of the folders.
  std::string config;
  std::vector<std::string> plugin_directories;
};
// Returns the exit status; only reads the cluster.
[[nodiscard]] int export_cluster(const ExportArguments& arguments);

}  // namespace plimsoll::cli

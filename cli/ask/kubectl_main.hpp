#pragma once
// `kubectl plimsoll`: what the program is under the name kubectl-plimsoll, by which kubectl finds
// its plugins. Asks a scheduler in a cluster over the HTTP server that it runs there, as the user
// of the kubeconfig, or with the token of a service account.

namespace plimsoll::cli {

inline constexpr const char* kKubectlName = "kubectl-plimsoll";

// The exit status: 0, 1 (failure, with the reason on standard error), 2 (wrong usage).
[[nodiscard]] int kubectl_main(int argc, char** argv);

}  // namespace plimsoll::cli

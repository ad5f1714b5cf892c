#pragma once
// A kubeconfig's user: the credentials that it has, or the command that gives them.

#include <string>

#include "informer/http/kubeconfig.hpp"
#include "informer/http/kubeconfig_files.hpp"

namespace plimsoll::informer {

// Puts what the entry says into `access`. Fails with the entry, what is wrong and what to do.
// YAML::Exception may come out of it. Blocks on small files only.
[[nodiscard]] Result<void> read_user(const KubeconfigEntry& entry, const std::string& name,
                                     ServerAccess& access);

}  // namespace plimsoll::informer

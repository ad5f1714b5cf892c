#pragma once
// The part of a kubelet's configuration that decides on admissions, as the kubelet states it:
// /configz with all defaults filled in, or its file, which lacks what flags and drop-ins say.
// Pure; any thread.

#include <string_view>

#include "framework/base/result.hpp"
#include "node/machine/machine.hpp"

namespace plimsoll::node {

// `json`: a KubeletConfiguration (kubelet.config.k8s.io/v1beta1), or the answer of /configz, which
// has one as "kubeletconfig". What is absent has the kubelet's default; reserved CPUs and memory
// are not read (see machine_of). Fails with kInvalid: which field is not as it must be.
[[nodiscard]] Result<KubeletSettings> parse_settings(std::string_view json);

}  // namespace plimsoll::node

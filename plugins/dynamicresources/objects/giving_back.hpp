#pragma once
// Requests that change a claim, or what a pod's status says of claims, once nobody is to use them
// so. None is waited for: what fails is only logged.

#include <nlohmann/json_fwd.hpp>
#include <plimsoll/plugin.hpp>

#include <string>
#include <string_view>

namespace plimsoll::dra {

struct ClaimId {
  std::string ns, name, uid;
  [[nodiscard]] std::string text() const { return ns + "/" + name; }
};

inline constexpr const char* kNoNode = "that no node of its pods can use";
inline constexpr const char* kMergePatch = "application/merge-patch+json";

// Takes the pod's reservation of a claim back.
void release(const sdk::Host& host, const ClaimId& claim, std::string_view pod_uid);
// Takes the devices of a claim back, if it still has this version. `why`: they are no use.
// `waiting`: the UID of a pod that is tried again after a while if that fails; empty: none is.
void deallocate(const sdk::Host& host, const ClaimId& claim, const std::string& version,
                const std::string& why, std::string_view waiting = {});
// Removes a claim that was made for extended resources: its protection first. `waiting`: as above.
void delete_claim(const sdk::Host& host, const ClaimId& claim, std::string_view waiting = {},
                  int tries = 0);
// Empties a pod's status.nodeAllocatableResourceClaimStatuses.
void forget_amounts(const sdk::Host& host, std::string_view ns, std::string_view name,
                    std::string_view uid);

// Changes these fields of a pod's status.
[[nodiscard]] sdk::Host::ApiRequest pod_status_request(std::string_view ns, std::string_view name,
                                                       std::string_view uid, nlohmann::json status);
// What an answer says of why it failed.
[[nodiscard]] std::string failure_text(int status, std::string_view body);
// A JSON text, whatever bytes are in it.
[[nodiscard]] std::string text_of(const nlohmann::json& json);
// metadata by which a patch fails if the object is not the one that was seen.
[[nodiscard]] nlohmann::json preconditions(const std::string& uid, const std::string& version);

}  // namespace plimsoll::dra

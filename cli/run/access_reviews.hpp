#pragma once
// Asks the API server who may use our HTTP endpoints: TokenReview (authentication.k8s.io/v1) and
// SubjectAccessReview (authorization.k8s.io/v1), over connections of their own. The scheduling loop
// takes no part in it.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/ask/asking.hpp"
#include "framework/base/result.hpp"
#include "framework/metrics/registry.hpp"
#include "informer/http/kubeconfig.hpp"
#include "serving/access.hpp"

namespace plimsoll::cli {

// Starts an I/O thread; connects with the first question. `registry` receives the client's metrics
// (null: none) and must outlive it.
[[nodiscard]] Result<std::unique_ptr<serving::Reviewer>> make_reviewer(
    const informer::ServerAccess& access, metrics::Registry* registry);

// Whether a token (a JWT) says that it is for kTokenAudience. Nothing is verified: the API server
// does that, which has to be told the audience.
[[nodiscard]] bool is_for_plimsoll(std::string_view token);

// The answers' meanings; for tests. An error: it is no such answer. `audience`: that the API server
// was asked about; one that does not repeat it has not looked at it.
[[nodiscard]] Result<std::optional<serving::User>> read_token_review(
    const std::string& body, const std::string& audience = {});
[[nodiscard]] Result<bool> read_access_review(const std::string& body);

}  // namespace plimsoll::cli

#pragma once
// Lists the cluster once, to compare it with the scheduler's state.

#include <stop_token>
#include <string>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/cycle/inspect/state_compare.hpp"
#include "informer/http/http_client.hpp"
#include "informer/watch/reflector.hpp"

namespace plimsoll::informer {

// Lists pods (all but the finished ones), nodes and `kinds` from the API server's store, in pages,
// one kind after the other. Blocks until all are read, for minutes in a large cluster; must not be
// called on the client's I/O thread. A kind that is not served has no objects. Fails with the error
// of the first request that fails; with kCancelled once `stop` is requested.
//
// `client` should be a separate one: the pages are parsed on its I/O thread.
[[nodiscard]] Result<ApiListing> list_cluster(HttpClient& client, SymbolTable& symbols,
                                              const std::vector<ResourceType>& kinds,
                                              const std::stop_token& stop);

}  // namespace plimsoll::informer

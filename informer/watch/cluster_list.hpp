#pragma once
// Lists the cluster once, for a comparison with what the scheduler knows.

#include <stop_token>
#include <string>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/cycle/state_compare.hpp"
#include "informer/http/http_client.hpp"
#include "informer/watch/reflector.hpp"

namespace plimsoll::informer {

// Pods (all but the finished ones), nodes and `kinds`, each from the API server's store, in pages,
// one after the other. Blocks until all are there, for minutes in a large cluster; not on the
// client's I/O thread. A kind that is not served has no objects. Fails as the first request that
// fails does; with kCancelled once `stop` is requested.
//
// `client` should be one of its own: the pages are read on its I/O thread.
[[nodiscard]] Result<ApiListing> list_cluster(HttpClient& client, SymbolTable& symbols,
                                              const std::vector<ResourceType>& kinds,
                                              const std::stop_token& stop);

}  // namespace plimsoll::informer

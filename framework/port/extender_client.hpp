#pragma once
// Calls HTTP extenders. The informer implements it over HTTP.
//
// An extender is named by its position in the scheduler's list. A call returns at once; `done` is
// called exactly once, on any thread, and must not block. No call outlives the extender's timeout.
// Like the API writer, a client is stopped before the scheduler that calls it goes.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll {

class ExtenderClient {
 public:
  using Done = std::function<void(Result<std::string>)>;
  virtual ~ExtenderClient() = default;
  // POST urlPrefix/verb with a JSON body. The result is the body of an answer with status 200; all
  // else is an error whose text has the URL. An answer of more than `most` bytes is an error too.
  virtual void call(size_t extender, std::string_view verb, std::string body, size_t most,
                    Done done) = 0;
};

}  // namespace plimsoll

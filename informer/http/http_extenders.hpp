#pragma once
// HTTP extenders over HTTP or HTTPS: one client for each, since each has an address, an authority
// and a timeout of its own. No credential of the cluster is ever sent to one.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"
#include "framework/extenders/extender.hpp"
#include "framework/port/extender_client.hpp"
#include "informer/http/http_client.hpp"

namespace plimsoll::informer {

class HttpExtenders final : public ExtenderClient {
 public:
  // Reads the files that the extenders name. `fence`: nothing is sent while it is closed; null:
  // none; it must outlive this.
  static Result<std::unique_ptr<HttpExtenders>> create(const std::vector<ExtenderSpec>& extenders,
                                                       const WriteFence* fence = nullptr);

  void call(size_t extender, std::string_view verb, std::string body, size_t most,
            Done done) override;
  // Ends all calls with an error, and the threads. A second call does nothing.
  void stop();

 private:
  struct One {
    std::string url_prefix;
    std::chrono::milliseconds timeout;
    std::unique_ptr<HttpClient> client;
  };
  explicit HttpExtenders(const WriteFence* fence) : fence_(fence) {}

  const WriteFence* fence_;
  std::vector<One> all_;
};

}  // namespace plimsoll::informer

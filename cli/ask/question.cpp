#include <utility>

#include "cli/ask/asking.hpp"

namespace plimsoll::cli {

constexpr std::chrono::seconds kLongestAnswer{60};

informer::HttpRequest question(const std::string& about, const std::vector<Parameter>& parameters) {
  informer::HttpRequest request;
  request.timeout = about == "compare" ? kLongestComparison : kLongestAnswer;
  request.path = "/debug/" + about;
  char before = '?';
  for (const Parameter& each : parameters)
    request.path += std::exchange(before, '&') + each.name + "=" + informer::url_encode(each.value);
  return request;
}

}  // namespace plimsoll::cli

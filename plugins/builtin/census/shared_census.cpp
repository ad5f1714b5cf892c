#include "plugins/builtin/census/shared_census.hpp"

#include <deque>

namespace plimsoll::builtin {
namespace {

constexpr std::string_view kService = "plimsoll.builtin.census";

// Services live as long as the process; the census goes with the last plugin that uses it.
struct Published {
  std::weak_ptr<SharedCensus> census;
};

}  // namespace

std::shared_ptr<SharedCensus> SharedCensus::get(const sdk::Host& host) {
  static std::deque<Published> published;
  const auto* known = host.find_service<Published>(kService, 1);
  if (known != nullptr) {
    if (auto shared = known->census.lock()) return shared;
  }
  auto made = std::make_shared<SharedCensus>(host);
  if (known != nullptr) {
    const_cast<Published*>(known)->census = made;
    return made;
  }
  Published& entry = published.emplace_back();
  entry.census = made;
  static_cast<void>(host.publish(kService, 1, &entry));  // without services it is not shared
  return made;
}

}  // namespace plimsoll::builtin

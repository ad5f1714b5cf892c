#include "informer/watch/known_objects.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace plimsoll::informer {
namespace {

std::string full_name_of(const ObjectKey& key) {
  std::string name;
  name.reserve(key.ns.size() + 1 + key.name.size());
  return name.append(key.ns).append(1, '/').append(key.name);
}

}  // namespace

KnownObjects::Known::Known(const ObjectKey& key, std::uint32_t seen_in)
    : round(seen_in),
      ns_(static_cast<std::uint32_t>(key.ns.size())),
      name_(static_cast<std::uint32_t>(key.name.size())),
      uid_(static_cast<std::uint32_t>(key.uid.size())),
      version_(static_cast<std::uint32_t>(key.resource_version.size())),
      text_(new char[key.ns.size() + 1 + key.name.size() + key.uid.size() +
                     key.resource_version.size()]) {
  char* at = std::copy(key.ns.begin(), key.ns.end(), text_.get());
  *at++ = '/';
  at = std::copy(key.name.begin(), key.name.end(), at);
  at = std::copy(key.uid.begin(), key.uid.end(), at);
  std::copy(key.resource_version.begin(), key.resource_version.end(), at);
}

ObjectKey KnownObjects::Known::key() const {
  const char* name = text_.get() + ns_ + 1;
  return {{text_.get(), ns_}, {name, name_}, {name + name_, uid_}, {name + name_ + uid_, version_}};
}

void KnownObjects::end_list(const OnGone& on_gone) {
  std::vector<std::string_view> vanished;
  for (const auto& [name, entry] : known_) {
    if (entry.round != round_) vanished.push_back(name);
  }
  for (const std::string_view name : vanished) {
    const auto node = known_.extract(name);
    on_gone(node.mapped().key());
  }
}

bool KnownObjects::note(const ObjectKey& key, const OnGone& on_gone) {
  if (const auto at = known_.find(full_name_of(key)); at != known_.end()) {
    const ObjectKey before = at->second.key();
    const bool same = before.uid == key.uid;
    if (same && !key.resource_version.empty() && before.resource_version == key.resource_version) {
      at->second.round = round_;
      return false;
    }
    const auto last = known_.extract(at);
    if (!same) on_gone(last.mapped().key());
  }
  Known now(key, round_);
  const std::string_view name = now.full_name();
  known_.emplace(name, std::move(now));
  return true;
}

std::optional<KnownObjects::Known> KnownObjects::take(const ObjectKey& key) {
  auto node = known_.extract(full_name_of(key));
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

}  // namespace plimsoll::informer

#include "plugins/topology/pod/pod_key.hpp"

#define XXH_INLINE_ALL  // a plugin links nothing more
#include <xxhash.h>

namespace plimsoll::topology {

PodKey PodKey::of(std::string_view uid) {
  return {XXH64(uid.data(), uid.size(), 1), XXH64(uid.data(), uid.size(), 2)};
}

}  // namespace plimsoll::topology

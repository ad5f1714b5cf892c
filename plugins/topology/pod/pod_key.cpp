#include "plugins/topology/pod/pod_key.hpp"

#define XXH_INLINE_ALL  // a plugin links nothing more
#include <xxhash.h>

namespace plimsoll::topology {

PodKey PodKey::of(std::string_view uid) {
  const XXH128_hash_t hash = XXH3_128bits(uid.data(), uid.size());
  return {hash.high64, hash.low64};
}

}  // namespace plimsoll::topology

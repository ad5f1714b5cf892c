#pragma once
// What a plugin says of some nodes by its state service (<plimsoll/state_source.h>).

#include <plimsoll/state_source.h>

#include <string>
#include <vector>

namespace plimsoll {

inline std::string kept_state(const plimsoll_state_source& source,
                              const std::vector<uint32_t>& slots) {
  void* kept = source.keep_nodes(source.self, slots.data(), slots.size());
  std::string text;
  source.describe_kept(
      kept,
      [](void* sink, const void* bytes, size_t len) {
        static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
      },
      &text);
  source.drop_kept(kept);
  return text;
}

}  // namespace plimsoll

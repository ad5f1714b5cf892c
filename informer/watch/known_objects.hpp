#pragma once
// What a reflector remembers of the objects of its kind: namespace, name, UID and resource version.
// One thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "informer/wire/wire.hpp"

namespace plimsoll::informer {

class KnownObjects {
 public:
  // Called with what was remembered of an object that is gone.
  using OnGone = std::function<void(const ObjectKey&)>;

  // Objects that are not noted again from here on are gone at the end.
  void begin_list() { ++round_; }
  void end_list(const OnGone& on_gone);

  // Returns false if the object is known in this version. One with the same name and another UID is
  // gone: it was deleted and created again between two events.
  [[nodiscard]] bool note(const ObjectKey& key, const OnGone& on_gone);

  // In one allocation: there are 100,000 objects and more.
  class Known {
   public:
    Known(const ObjectKey& key, std::uint32_t seen_in);
    // "namespace/name". Used as the key: keeps its address when this object is moved.
    [[nodiscard]] std::string_view full_name() const { return {text_.get(), ns_ + 1 + name_}; }
    [[nodiscard]] ObjectKey key() const;

    std::uint32_t round;  // of the last list that contained it

   private:
    std::uint32_t ns_;
    std::uint32_t name_;
    std::uint32_t uid_;
    std::uint32_t version_;
    std::unique_ptr<char[]> text_;
  };
  // Forgets the object of this name; returns what was remembered of it.
  [[nodiscard]] std::optional<Known> take(const ObjectKey& key);

 private:
  std::unordered_map<std::string_view, Known> known_;  // by Known::full_name
  std::uint32_t round_ = 0;
};

}  // namespace plimsoll::informer

#pragma once
// Objects of a fake host that live no longer than <plimsoll/kinds.h> promises: once object_event
// has told of the next change, what was there is overwritten and freed. Who reads it then crashes.

#include <cstring>
#include <map>
#include <plimsoll/fake_host.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "framework/objects/kinds.hpp"

namespace plimsoll::volumes_test {

struct ObjectChange {
  std::string resource;
  std::string ns;
  std::string name;
  std::string before;  // JSON; empty: there was none
  std::string now;     // empty: it is gone
};

class ObjectsOfHost {
 public:
  explicit ObjectsOfHost(sdk::FakeHost& host) : host_(host) {}

  // `tell` tells the plugins. Empty `json`: the object goes.
  template <typename Tell>
  ObjectChange change(std::string_view resource, std::string_view ns, std::string_view name,
                      std::string_view json, const Tell& tell) {
    Known& known = known_[{std::string(resource), std::string(ns), std::string(name)}];
    const Known before = std::exchange(
        known,
        {std::string(json), json.empty() ? nullptr : decode_object(resource, ns, name, json)});
    auto& kind = host_.objects[std::string(resource)];
    kind.erase({std::string(ns), std::string(name)});
    if (known.object != nullptr) kind[{std::string(ns), std::string(name)}] = known.object.get();
    tell();
    if (before.object != nullptr) {
      std::memset(const_cast<plimsoll_object*>(before.object.get()), 0x5a, before.object->size);
    }
    return {std::string(resource), std::string(ns), std::string(name), before.json, known.json};
  }

 private:
  struct Known {
    std::string json;
    ObjectRef object;
  };
  sdk::FakeHost& host_;
  std::map<std::tuple<std::string, std::string, std::string>, Known> known_;
};

}  // namespace plimsoll::volumes_test

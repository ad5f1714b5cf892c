#pragma once
// Objects of kinds that the framework decodes, kept as long as the test needs them.

#include <plimsoll/kinds.hpp>

#include <string_view>
#include <vector>

#include "framework/objects/kinds.hpp"

namespace plimsoll::test {

class DecodedObjects {
 public:
  template <typename Object>
  const Object& operator()(const sdk::Kind<Object>& kind, std::string_view ns,
                           std::string_view name, std::string_view json) {
    kept_.push_back(decode_object(kind.resource, ns, name, json));
    return *reinterpret_cast<const Object*>(kept_.back().get());
  }

 private:
  std::vector<ObjectRef> kept_;
};

}  // namespace plimsoll::test

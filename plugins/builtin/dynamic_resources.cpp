// DynamicResources, which is written against the SDK alone, as a plugin of the default profile.
#include "plugins/dynamicresources/dynamicresources.hpp"

#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {

StaticModule dynamic_resources() {
  return linked_in<dra::DynamicResources>();
}

}  // namespace plimsoll::builtin

// error: a plugin is constructed from (Host, std::string_view args_json) or (Host)
#include <plimsoll/plugin.hpp>

struct FromNothing {
  FromNothing() = default;
};
PLIMSOLL_PLUGIN(FromNothing, "FromNothing", "1.0.0", "Apache-2.0")

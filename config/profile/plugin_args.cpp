#include "config/profile/plugin_args.hpp"

namespace plimsoll::config {

std::string passed_on_args(std::string_view plugin, std::string_view written_name,
                           const Value* args) {
  if (args == nullptr || args->is_null()) return "{}";
  if (!args->is_mapping()) return to_json(*args);
  const Value* kind = args->find("kind");
  const bool usual =
      kind == nullptr || (kind->is_string() && (kind->text == std::string(plugin) + "Args" ||
                                                kind->text == std::string(written_name) + "Args"));
  if (!usual) return to_json(*args);
  Value out = *args;
  std::erase_if(out.members, [](const Member& member) {
    return member.key == "apiVersion" || member.key == "kind";
  });
  return to_json(out);
}

}  // namespace plimsoll::config

#include "framework/runtime/plugin/plugin_instance.hpp"

#include <cstddef>
#include <cstring>

#include "framework/api/objects.hpp"

namespace plimsoll {

namespace {

// The size of the table in ABI 1.0. A plugin fills at least this.
constexpr uint32_t kPluginSizeV1 = offsetof(plimsoll_plugin, explain) + sizeof(void*);

Result<void> check_table(const plimsoll_plugin& table) {
  if (table.size < kPluginSizeV1 || table.size > sizeof(plimsoll_plugin)) {
    return fail(ErrorCode::kInvalid, "it filled in a table of " + std::to_string(table.size) +
                                         " bytes, ABI 1.0 has " + std::to_string(kPluginSizeV1) +
                                         ": build it with this scheduler's SDK");
  }
  if (table.destroy == nullptr) {
    return fail(ErrorCode::kInvalid, "it has no destroy function: build it with the SDK's macro");
  }
  if ((table.add_pod == nullptr) != (table.remove_pod == nullptr)) {
    return fail(ErrorCode::kInvalid, "it has one of add_pod and remove_pod, but needs both");
  }
  return {};
}

}  // namespace

PluginInstance::PluginInstance(const ModuleRecord& module, std::string_view scheduler_name,
                               Environment& env)
    : ctx_{&env,           module.name, std::string(scheduler_name), {}, module.path.empty(),
           module.version, module.path} {
  host_ = make_host_table(&ctx_);
}

PluginInstance::~PluginInstance() {
  if (slots_.destroy == nullptr) return;
  const RunningCall running(running_, "Destroy");
  slots_.destroy(slots_.self);
}

Result<std::unique_ptr<PluginInstance>> PluginInstance::create(const ModuleRecord& module,
                                                               std::string_view args_json,
                                                               std::string_view scheduler_name,
                                                               Environment& env) {
  std::unique_ptr<PluginInstance> instance(new PluginInstance(module, scheduler_name, env));
  plimsoll_plugin table{};
  table.size = sizeof table;
  forget_plugin_error();
  const LooseCall running(instance->running(), "Create");
  const int32_t code = module.create(&instance->host_, str(args_json), &table);
  if (code != PLIMSOLL_SUCCESS) {
    std::string text = take_plugin_error();
    if (text.empty()) text = "it failed without saying why";
    return fail(ErrorCode::kInvalid, std::move(text));
  }
  if (auto checked = check_table(table); !checked) {
    if (table.size >= offsetof(plimsoll_plugin, start) && table.size <= sizeof table &&
        table.destroy != nullptr) {
      table.destroy(table.self);
    }
    return fail(checked.error());
  }
  std::memcpy(&instance->slots_, &table, table.size);
  if (table.events != nullptr) {
    const plimsoll_list list = table.events(table.self);
    const auto* at = static_cast<const std::byte*>(list.data);
    for (uint32_t i = 0; i < list.count && list.stride >= sizeof(plimsoll_event_interest); ++i) {
      plimsoll_event_interest interest;
      std::memcpy(&interest, at + size_t{i} * list.stride, sizeof interest);
      instance->interests_.push_back(interest);
    }
  }
  return instance;
}

bool PluginInstance::implements(ExtensionPoint point) const {
  switch (point) {
    case ExtensionPoint::kPreEnqueue:
      return slots_.pre_enqueue != nullptr;
    case ExtensionPoint::kQueueSort:
      return slots_.sort_key != nullptr;
    case ExtensionPoint::kPreFilter:
      return slots_.pre_filter != nullptr;
    case ExtensionPoint::kFilter:
      return slots_.filter != nullptr;
    case ExtensionPoint::kPostFilter:
      return slots_.post_filter != nullptr;
    case ExtensionPoint::kPreScore:
      return slots_.pre_score != nullptr;
    case ExtensionPoint::kScore:
      return slots_.score != nullptr;
    case ExtensionPoint::kReserve:
      return slots_.reserve != nullptr || slots_.unreserve != nullptr;
    case ExtensionPoint::kPermit:
      return slots_.permit != nullptr;
    case ExtensionPoint::kPreBind:
      return slots_.pre_bind != nullptr;
    case ExtensionPoint::kBind:
      return slots_.bind != nullptr;
    case ExtensionPoint::kPostBind:
      return slots_.post_bind != nullptr;
  }
  return false;
}

}  // namespace plimsoll

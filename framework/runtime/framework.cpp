// Making a profile, its queue functions and the fan-out of events.

#include "framework/runtime/framework.hpp"

#include <cstring>
#include <limits>
#include <map>

#include "framework/base/log.hpp"
#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/runtime/plugin/prepared_plugins.hpp"
#include "framework/runtime/plugin_call.hpp"
#include "framework/runtime/profile_rules.hpp"

namespace plimsoll {

namespace {

constexpr std::string_view kExtenderName = "Extender";

void append_bytes(void* sink, const void* bytes, size_t len) {
  static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
}

void append_size(std::string& out, size_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

// Collects every error of a profile before it gives up.
struct Framework::Builder {
  const ProfileSpec& spec;
  const Modules& modules;
  PreparedPlugins* prepared;
  Framework& framework;
  std::vector<Error> errors;
  std::map<std::string, PluginIndex, std::less<>> indices;  // kNoPlugin: does not exist or failed

  void fail_with(std::string text) {
    errors.push_back(Error{ErrorCode::kInvalid, std::move(text)});
  }

  // The index of the plugin, made if it was not yet. `interface` is named if it does not exist.
  PluginIndex make(const std::string& name, std::string_view interface) {
    if (auto known = indices.find(name); known != indices.end()) return known->second;
    PluginIndex& index = indices.emplace(name, kNoPlugin).first->second;
    const ModuleRecord* module = modules.find(name);
    if (module == nullptr) {
      fail_with(missing_plugin(interface, name));
      return kNoPlugin;
    }
    if (framework.plugins_.size() == kMaxPlugins) {
      fail_with("a profile has at most " + std::to_string(kMaxPlugins) + " plugins; " +
                in_quotes(name) + " is one too many");
      return kNoPlugin;
    }
    const auto given = spec.args.find(name);
    const std::string args = given == spec.args.end() ? "{}" : given->second;
    std::unique_ptr<PluginInstance> instance;
    if (prepared != nullptr) instance = prepared->take(spec.scheduler_name, name, args);
    if (instance == nullptr) {
      auto made = PluginInstance::create(*module, args, spec.scheduler_name, framework.env_);
      if (!made) {
        fail_with("initializing plugin " + in_quotes(name) + ": " + made.error().message);
        return kNoPlugin;
      }
      instance = std::move(*made);
    }
    index = static_cast<PluginIndex>(framework.plugins_.size());
    framework.plugins_.push_back(std::move(instance));
    return index;
  }

  void fill(ExtensionPoint point) {
    const std::string interface = interface_name(point);
    PluginList list(interface);
    for (const PluginEntry& entry : spec.at(point)) {
      const PluginIndex index = make(entry.name, interface);
      if (index == kNoPlugin) continue;
      const bool implements = framework.plugins_[index]->implements(point);
      if (std::string wrong = list.add(entry.name, implements, entry.name); !wrong.empty()) {
        fail_with(std::move(wrong));
        continue;
      }
      framework.points_[static_cast<size_t>(point)].push_back({index, entry.weight});
    }
  }

  void collect_events() {
    PluginMask rejecting;
    for (ExtensionPoint point :
         {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
          ExtensionPoint::kReserve, ExtensionPoint::kPermit}) {
      for (const Slot& slot : framework.at(point)) rejecting.set(slot.plugin);
    }
    for (size_t i = 0; i < framework.plugins_.size(); ++i) {
      if (!rejecting.test(i)) continue;
      const PluginInstance& plugin = *framework.plugins_[i];
      framework.events_.push_back({static_cast<PluginIndex>(i), plugin.slots().events == nullptr,
                                   std::span(plugin.interests())});
    }
  }
};

Framework::Framework(std::string scheduler_name, Environment& env)
    : scheduler_name_(std::move(scheduler_name)), env_(env) {}

Framework::~Framework() = default;

tl::expected<std::unique_ptr<Framework>, std::vector<Error>> Framework::create(
    const ProfileSpec& spec, const Modules& modules, Environment& env, PreparedPlugins* prepared) {
  std::unique_ptr<Framework> framework(new Framework(spec.scheduler_name, env));
  Builder builder{spec, modules, prepared, *framework, {}, {}};
  for (size_t i = 0; i < kExtensionPoints; ++i) builder.fill(static_cast<ExtensionPoint>(i));
  for (const std::string& plugin : spec.plugins) builder.make(plugin, "Plugin");
  for (auto& [point, text] : required_points_problems(spec)) builder.fail_with(std::move(text));
  if (!builder.errors.empty()) return tl::unexpected(std::move(builder.errors));
  builder.collect_events();
  for (ExtensionPoint point : {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
                               ExtensionPoint::kPreScore, ExtensionPoint::kScore}) {
    for (const Slot& slot : framework->at(point)) framework->deciding_.set(slot.plugin);
  }
  framework->make_metrics();
  return framework;
}

void Framework::make_metrics() {
  if (env_.metrics == nullptr) return;
  std::vector<std::string> names;
  for (const auto& plugin : plugins_) names.push_back(plugin->name());
  names.emplace_back(kExtenderName);
  metrics_ = std::make_unique<metrics::ProfileMetrics>(*env_.metrics, scheduler_name_, names);
}

std::shared_ptr<CycleContext> Framework::new_cycle() const {
  auto cycle = std::make_shared<CycleContext>(this);
  cycle->time_plugins = metrics_ != nullptr && metrics_->sample();
  return cycle;
}

std::string_view Framework::plugin_name(PluginIndex plugin) const {
  return plugin == extender_index() ? kExtenderName : std::string_view(plugins_[plugin]->name());
}

uint32_t Framework::filter_aspects(PluginIndex plugin) const {
  return plugins_[plugin]->slots().filter_aspects;
}

bool Framework::is_blind_to_what_ifs(PluginIndex plugin) const {
  const plimsoll_plugin& slots = plugins_[plugin]->slots();
  const auto is_at = [&](ExtensionPoint point) {
    return std::ranges::any_of(at(point), [&](const Slot& slot) { return slot.plugin == plugin; });
  };
  const bool counts =
      is_at(ExtensionPoint::kReserve) || (slots.flags & PLIMSOLL_FLAG_COUNTS_ASSUMED_PODS) != 0;
  return counts && (slots.add_pod == nullptr || !is_at(ExtensionPoint::kPreFilter));
}

uint32_t Framework::score_aspects(PluginIndex plugin) const {
  return plugins_[plugin]->slots().score_aspects;
}

bool Framework::has_normalize(PluginIndex plugin) const {
  return plugins_[plugin]->slots().normalize != nullptr;
}

bool Framework::normalizes_by_extremes(PluginIndex plugin) const {
  return (plugins_[plugin]->slots().flags & PLIMSOLL_FLAG_NORMALIZES_BY_EXTREMES) != 0;
}

bool Framework::wakes_whom_it_gates(PluginIndex plugin) const {
  return (plugins_[plugin]->slots().flags & PLIMSOLL_FLAG_WAKES_WHOM_IT_GATES) != 0;
}

bool Framework::rests_on(PluginIndex plugin, const plimsoll_pod& pod,
                         std::string_view resource) const {
  const PluginInstance& asked = *plugins_[plugin];
  if (asked.slots().rests_on == nullptr) return asked.watches(resource);
  return call_slot(asked, "RestsOn", asked.slots().rests_on, &pod, str(resource)) != 0;
}

Result<void> Framework::start() {
  for (const auto& plugin : plugins_) {
    if (plugin->slots().start == nullptr) continue;
    forget_plugin_error();
    if (call_slot(*plugin, "Start", plugin->slots().start) != PLIMSOLL_SUCCESS) {
      return fail(ErrorCode::kInternal, "profile " + in_quotes(scheduler_name_) +
                                            ": starting plugin " + in_quotes(plugin->name()) +
                                            ": " + take_plugin_error());
    }
  }
  return {};
}

Status Framework::named(Status status, PluginIndex plugin) const {
  status.plugin_index = plugin;
  status.plugin = plugins_[plugin]->name();
  return status;
}

Status Framework::failure(PluginIndex plugin, int32_t code, std::string_view what) const {
  std::string text(what);
  text += ": ";
  if (code == PLIMSOLL_ERROR) {
    std::string said = take_plugin_error();
    text += said.empty() ? "it failed without saying why" : said;
  } else {
    text += "it returned " + code_name(code) + ", which it must not return here";
  }
  return named(error_status(std::move(text)), plugin);
}

Status Framework::rejection(PluginIndex plugin, int32_t code, uint32_t reason,
                            std::string_view what) const {
  if (code < 0 || code > PLIMSOLL_PENDING || !is_rejected(static_cast<Code>(code))) {
    return failure(plugin, code, what);
  }
  if (!env_.reasons.valid(reason)) {
    return named(error_status(std::string(what) + ": it gave " + std::to_string(reason) +
                              " as its reason, which host->reason did not return"),
                 plugin);
  }
  Status status;
  status.code = static_cast<Code>(code);
  status.reason =
      reason != 0 ? reason : env_.reasons.intern("rejected by plugin " + plugins_[plugin]->name());
  return named(std::move(status), plugin);
}

Status Framework::worded_rejection(PluginIndex plugin, int32_t code, uint32_t reason,
                                   std::string_view what) const {
  const bool worded = reason == 0 && code != PLIMSOLL_ERROR;
  std::string text = worded ? take_plugin_error() : std::string();
  Status status = rejection(plugin, code, reason, what);
  if (status.rejected() && !text.empty()) {
    status.reason = 0;
    status.error = std::move(text);
  }
  return status;
}

Status Framework::run_pre_enqueue(const plimsoll_pod& pod) {
  for (const Slot& slot : at(ExtensionPoint::kPreEnqueue)) {
    PluginInstance& pre_enqueue = plugin(slot);
    uint32_t reason = 0;
    const int32_t code = call_plugin(
        {metrics_.get(), metrics_ && metrics_->sample(), slot.plugin, metrics::Point::kPreEnqueue},
        pre_enqueue, pre_enqueue.slots().pre_enqueue, &pod, &reason);
    if (code != PLIMSOLL_SUCCESS) {
      return worded_rejection(slot.plugin, code, reason,
                              "running PreEnqueue plugin " + in_quotes(pre_enqueue.name()));
    }
  }
  return {};
}

bool Framework::sort_key(const plimsoll_pod& pod, int64_t queued_ms, std::array<uint8_t, 24>& key) {
  key.fill(0);
  const Slot& slot = at(ExtensionPoint::kQueueSort).front();
  PluginInstance& sort = plugin(slot);
  forget_plugin_error();
  const int32_t code =
      call_slot(sort, "QueueSort", sort.slots().sort_key, &pod, queued_ms, key.data());
  if (code == PLIMSOLL_SUCCESS) return true;
  key.fill(0);
  const Status failed =
      failure(slot.plugin, code, "running QueueSort plugin " + in_quotes(sort.name()));
  log_error("a pod's place in the queue is not known", {{"error", failed.error}});
  return false;
}

int32_t Framework::hint(PluginIndex index, const plimsoll_pod& pod, const plimsoll_event& event) {
  PluginInstance& asked = *plugins_[index];
  if (env_.stop_asked()) return PLIMSOLL_HINT_SKIP;  // no pod is tried any more
  if (asked.slots().hint == nullptr) return PLIMSOLL_HINT_QUEUE;
  const int32_t hint = call_slot(asked, "QueueingHint", asked.slots().hint, &pod, &event);
  return hint == PLIMSOLL_HINT_SKIP ? PLIMSOLL_HINT_SKIP : PLIMSOLL_HINT_QUEUE;
}

PluginMask Framework::run_sign(const plimsoll_pod& pod, std::string& signature) {
  PluginMask unsigned_plugins;
  for (size_t i = 0; i < plugins_.size(); ++i) {
    if (!deciding_.test(i)) continue;
    PluginInstance& signer = *plugins_[i];
    const size_t start = signature.size();
    append_size(signature, 0);
    const bool ok = signer.slots().sign != nullptr &&
                    call_slot(signer, "Sign", signer.slots().sign, &pod, append_bytes,
                              static_cast<void*>(&signature)) == PLIMSOLL_SUCCESS;
    if (!ok) {
      signature.resize(start);
      append_size(signature, std::numeric_limits<size_t>::max());
      unsigned_plugins.set(i);
      continue;
    }
    // The length goes in front, so that no two lists of fragments run together alike.
    const size_t length = signature.size() - start - sizeof(size_t);
    std::memcpy(signature.data() + start, &length, sizeof length);
  }
  return unsigned_plugins;
}

void Framework::node_event(uint32_t type, const plimsoll_node_info& node, uint32_t aspects) {
  for (const auto& told : plugins_) {
    if (told->slots().node_event != nullptr) {
      call_slot(*told, "NodeEvent", told->slots().node_event, type, &node, aspects);
    }
  }
}

void Framework::pod_event(uint32_t type, const plimsoll_pod& pod, std::string_view node_name) {
  for (const auto& told : plugins_) {
    if (told->slots().pod_event != nullptr) {
      call_slot(*told, "PodEvent", told->slots().pod_event, type, &pod, str(node_name));
    }
  }
}

void Framework::assumed_pod_event(uint32_t type, const plimsoll_pod& pod) {
  for (const auto& told : plugins_) {
    const plimsoll_plugin& slots = told->slots();
    if ((slots.flags & PLIMSOLL_FLAG_COUNTS_ASSUMED_PODS) == 0 || slots.pod_event == nullptr) {
      continue;
    }
    call_slot(*told, "PodEvent", slots.pod_event, type, &pod, pod.node_name);
  }
}

void Framework::object_event(uint32_t type, std::string_view resource, std::string_view name,
                             std::string_view ns, std::string_view json) {
  for (const auto& told : plugins_) {
    if (told->slots().object_event != nullptr && told->watches(resource)) {
      call_slot(*told, "ObjectEvent", told->slots().object_event, type, str(resource), str(name),
                str(ns), str(json));
    }
  }
}

std::string Framework::explain(PluginIndex index, const CycleContext& cycle,
                               const plimsoll_pod& pod, const plimsoll_node_info& node) const {
  std::string text;
  const PluginInstance& asked = *plugins_[index];
  if (asked.slots().explain != nullptr) {
    call_slot(asked, "Explain", asked.slots().explain, &cycle, &pod, &node, append_bytes,
              static_cast<void*>(&text));
  }
  return text;
}

}  // namespace plimsoll

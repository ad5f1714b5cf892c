#include "tests/runtime/support.hpp"

#include <stdexcept>

namespace plimsoll::testing {

using sdk::Host;
using sdk::Node;
using sdk::NodeNames;
using sdk::Nomination;
using sdk::Pod;
using sdk::Sink;
using sdk::SortKey;
using sdk::Token;
using sdk::Verdicts;
using PluginStatus = sdk::Status;

const plimsoll_node_info* RecordingBackend::node_by_name(std::string_view node_name) {
  for (sdk::FakeNode* node : nodes) {
    if (node->name() == node_name) return &node->get();
  }
  return nullptr;
}

const plimsoll_node_info* RecordingBackend::node_by_slot(uint32_t slot) {
  return slot < nodes.size() ? &nodes[slot]->get() : nullptr;
}

Result<void> RecordingBackend::watch(const WantedKind& kind) {
  if (kind.plural.empty()) return fail(ErrorCode::kInvalid, "no kind");
  watched.push_back(kind.plural + "." + kind.version + "." + kind.group);
  return {};
}

void RecordingBackend::emit_event(std::string_view scheduler_name, const plimsoll_pod& pod,
                                  bool warning, std::string_view reason, std::string_view action,
                                  std::string_view note) {
  events.push_back(std::string(scheduler_name) + " " + std::string(sdk::view(pod.meta.name)) +
                   (warning ? " Warning " : " Normal ") + std::string(reason) + " " +
                   std::string(action) + " " + std::string(note));
}

const plimsoll_pod* RecordingBackend::pod_by_uid(std::string_view uid) {
  for (const plimsoll_pod* pod : pods) {
    if (view(pod->meta.uid) == uid) return pod;
  }
  return nullptr;
}

void RecordingBackend::allow_waiting(std::string_view plugin, std::string_view pod_uid) {
  waiting.push_back(std::string(plugin) + " allows " + std::string(pod_uid));
}

void RecordingBackend::reject_waiting(std::string_view plugin, std::string_view pod_uid,
                                      std::string_view message) {
  waiting.push_back(std::string(plugin) + " rejects " + std::string(pod_uid) + ": " +
                    std::string(message));
}

void RecordingBackend::post_binding(BindingPost post, std::function<void(Result<void>)> done) {
  posts.push_back(std::move(post));
  if (on_post) return on_post(std::move(done));
  done({});
}

std::map<std::string, Script, std::less<>>& scripts() {
  static std::map<std::string, Script, std::less<>> all;
  return all;
}

std::vector<std::string>& calls() {
  static std::vector<std::string> all;
  return all;
}

namespace {

// Calls the script's function if it is set; otherwise the result is a default one.
template <typename Result, typename Function, typename... Args>
Result run(const Host& host, std::string_view what, const Function& function, Args&&... args) {
  calls().push_back(std::string(host.scope()) + "." + std::string(what));
  if (!function) return Result();
  return function(host, std::forward<Args>(args)...);
}

// The name is one letter.
template <char kLetter>
class Scripted {
 public:
  static constexpr char kText[] = {kLetter, 0};
  static constexpr const char* kName = kText;
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;

  Scripted(Host host, std::string_view args) : host_(std::move(host)) {
    if (script().create) script().create(host_, args);
  }
  PluginStatus pre_enqueue(Pod pod) {
    return run<PluginStatus>(host_, "pre_enqueue", script().pre_enqueue, pod);
  }
  PluginStatus pre_filter(plimsoll_cycle& cycle, Pod, NodeNames& names) {
    return run<PluginStatus>(host_, "pre_filter", script().pre_filter, cycle, names);
  }
  PluginStatus add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node) {
    return run<PluginStatus>(host_, "add_pod", script().add_pod, cycle, added.name());
  }
  PluginStatus remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node) {
    return run<PluginStatus>(host_, "remove_pod", script().remove_pod, cycle, removed.name());
  }
  PluginStatus filter_node(const plimsoll_cycle& cycle, Pod, Node node) const {
    return run<PluginStatus>(host_, "filter " + std::string(node.name()), script().filter_node,
                             cycle, node);
  }
  PluginStatus post_filter(plimsoll_cycle&, Pod, sdk::Nodes, std::span<const uint8_t> codes,
                           Nomination& nomination) {
    return run<PluginStatus>(host_, "post_filter", script().post_filter, codes, nomination);
  }
  PluginStatus pre_score(plimsoll_cycle&, Pod, sdk::Nodes) {
    return run<PluginStatus>(host_, "pre_score", script().pre_score);
  }
  int64_t score_node(const plimsoll_cycle&, Pod, Node node) const {
    return run<int64_t>(host_, "score " + std::string(node.name()), script().score_node, node);
  }
  PluginStatus normalize(const plimsoll_cycle&, Pod, sdk::Nodes, std::span<int64_t> scores) const {
    return run<PluginStatus>(host_, "normalize", script().normalize, scores);
  }
  PluginStatus reserve(plimsoll_cycle& cycle, Pod, Node) {
    return run<PluginStatus>(host_, "reserve", script().reserve, cycle);
  }
  void unreserve(plimsoll_cycle&, Pod, std::string_view node) {
    run<void>(host_, "unreserve", script().unreserve, node);
  }
  PluginStatus permit(plimsoll_cycle&, Pod, Node, int64_t& timeout_ms) {
    return run<PluginStatus>(host_, "permit", script().permit, timeout_ms);
  }
  PluginStatus pre_bind_pre_flight(plimsoll_cycle&, Pod, std::string_view, bool& parallel) {
    return run<PluginStatus>(host_, "pre_flight", script().pre_flight, parallel);
  }
  // Binding runs on other threads: no calls are noted here.
  PluginStatus pre_bind(plimsoll_cycle& cycle, Pod, std::string_view, Token token) {
    return script().pre_bind ? script().pre_bind(host_, cycle, token) : PluginStatus();
  }
  PluginStatus bind(plimsoll_cycle& cycle, Pod pod, std::string_view node, Token token) {
    return script().bind ? script().bind(host_, cycle, pod, node, token) : PluginStatus();
  }
  void post_bind(plimsoll_cycle&, Pod, std::string_view node) {
    calls().push_back(std::string(kName) + ".post_bind " + std::string(node));
  }
  PluginStatus sign(Pod pod, Sink& sink) {
    return script().sign ? script().sign(host_, pod, sink) : PluginStatus();
  }
  void start() { run<void>(host_, "start", script().start); }
  void node_event(sdk::NodeEvent, Node node, uint32_t) {
    calls().push_back(std::string(kName) + ".node_event " + std::string(node.name()));
  }
  void pod_event(sdk::PodEvent, Pod pod, std::string_view node) {
    calls().push_back(std::string(kName) + ".pod_event " + std::string(pod.name()) + " " +
                      std::string(node));
  }
  void object_event(const sdk::ObjectEvent& event) {
    calls().push_back(std::string(kName) + ".object_event " + std::string(event.resource) + " " +
                      std::string(event.name));
  }
  void explain(const plimsoll_cycle&, Pod, Node node, Sink& sink) const {
    sink.put("nothing to say about ");
    sink.put(node.name());
  }

 private:
  static const Script& script() { return scripts()[kName]; }
  Host host_;
};

class Sort {
 public:
  static constexpr const char* kName = "Sort";
  explicit Sort(Host) {}
  SortKey sort_key(Pod pod, int64_t queued_ms) {
    if (pod.label("unsortable")) throw std::runtime_error("no order");
    return SortKey().descending(pod->priority).ascending(queued_ms);
  }
};

class Binder {
 public:
  static constexpr const char* kName = "Binder";
  explicit Binder(Host host) : host_(std::move(host)) {}
  PluginStatus bind(plimsoll_cycle& cycle, Pod pod, std::string_view node, Token token) {
    return host_.post_binding(cycle, pod, node, token);
  }

 private:
  Host host_;
};

class Idle {
 public:
  static constexpr const char* kName = "Idle";
  explicit Idle(Host) {}
};

// Takes part in nearly everything, but wants to hear of one event only, and of none.
template <bool kAny>
class Picky {
 public:
  static constexpr const char* kName = kAny ? "Picky" : "Deaf";
  explicit Picky(Host) {}
  std::vector<plimsoll_event_interest> events() const {
    if (!kAny) return {};
    return {{sdk::str("Node"), PLIMSOLL_ACTION_ADD, 0}};
  }
  sdk::Hint hint(Pod, const plimsoll_event& event) {
    return event.actions == PLIMSOLL_ACTION_ADD ? sdk::Hint::kQueue : sdk::Hint::kSkip;
  }
  PluginStatus pre_enqueue(Pod) { return {}; }
};

template <typename Class>
StaticModule module_of() {
  return {Class::kName, "1.0.0", sdk::create_fn<Class>};
}

}  // namespace

std::vector<StaticModule> scripted_modules() {
  return {module_of<Scripted<'A'>>(), module_of<Scripted<'B'>>(), module_of<Scripted<'C'>>(),
          module_of<Scripted<'D'>>(), module_of<Scripted<'E'>>(), module_of<Scripted<'F'>>(),
          module_of<Scripted<'G'>>(), module_of<Scripted<'H'>>(), module_of<Sort>(),
          module_of<Binder>(),        module_of<Idle>(),          module_of<Picky<true>>(),
          module_of<Picky<false>>()};
}

ProfileSpec minimal_profile() {
  ProfileSpec spec;
  spec.scheduler_name = "test-scheduler";
  spec.at(ExtensionPoint::kQueueSort) = {{"Sort"}};
  spec.at(ExtensionPoint::kBind) = {{"Binder"}};
  return spec;
}

World::World() {
  scripts().clear();
  calls().clear();
  modules.add_builtin(scripted_modules());
}

Framework& World::make(const ProfileSpec& spec) {
  auto made = Framework::create(spec, modules, env);
  if (!made) throw std::runtime_error(made.error().front().message);
  frameworks.push_back(std::move(*made));
  return *frameworks.back();
}

std::vector<std::string> World::errors_of(const ProfileSpec& spec) {
  std::vector<std::string> texts;
  auto made = Framework::create(spec, modules, env);
  if (made) return texts;
  for (const Error& error : made.error()) texts.push_back(error.message);
  return texts;
}

}  // namespace plimsoll::testing

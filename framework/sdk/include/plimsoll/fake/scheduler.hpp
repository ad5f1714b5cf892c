// Plimsoll plugin SDK, for unit tests: the functions of a scheduler that only records.
#pragma once

#include <plimsoll/fake/metrics.hpp>
#include <plimsoll/fake/names.hpp>
#include <plimsoll/fake/records.hpp>
#include <plimsoll/fake_objects.hpp>
#include <plimsoll/host.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sdk {

class FakeHost : public FakeRecords {
 public:
  FakeHost() {
    table_.size = sizeof table_;
    table_.abi_major = PLIMSOLL_ABI_MAJOR;
    table_.abi_minor = PLIMSOLL_ABI_MINOR;
    table_.ctx = reinterpret_cast<plimsoll_host_ctx*>(this);
    add_names(table_);
    FakeCycle::add_functions(table_);
    add_cluster(table_);
    add_binding(table_);
    add_what_ifs(table_);
    add_metrics(table_);
  }
  // Like a scheduler that stops: cancels the tasks that have not run, so that they free what they
  // own.
  ~FakeHost() { drop_deferred(); }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  [[nodiscard]] const plimsoll_host* table() const { return &table_; }
  // For plugin classes that are tested without FakePlugin.
  [[nodiscard]] Host handle(std::string_view scope = "test") const { return {&table_, scope}; }

  // Plugins then find the node by name and by slot. The node must outlive the host.
  void add(FakeNode& node) { nodes_.push_back(&node); }
  [[nodiscard]] const std::vector<FakeNode*>& nodes() const { return nodes_; }
  // The texts of a reason id, joined by ", ".
  [[nodiscard]] std::string reasons(uint32_t id) const { return names_.reasons(id); }

 private:
  using Ctx = plimsoll_host_ctx*;
  static FakeHost& of(Ctx ctx) { return *reinterpret_cast<FakeHost*>(ctx); }
  static FakeWhatIf& of(plimsoll_what_if* raw) { return *reinterpret_cast<FakeWhatIf*>(raw); }
  static std::string text(const plimsoll_str& from) { return std::string(view(from)); }

  template <typename Is>
  const plimsoll_node_info* node_that(const Is& is) {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), is);
    return found == nodes_.end() ? nullptr : &(*found)->get();
  }
  const plimsoll_node_info* node(uint32_t slot) {
    return node_that([slot](FakeNode* node) { return node->slot() == slot; });
  }

  static void add_names(plimsoll_host& t) {
    t.log = [](Ctx c, uint32_t, plimsoll_str message) { of(c).logs.push_back(text(message)); };
    t.set_error = [](Ctx c, plimsoll_str message) { of(c).error = text(message); };
    t.intern = [](Ctx c, plimsoll_str name) { return of(c).names_.intern(view(name)); };
    t.resource_index = [](Ctx, plimsoll_str name) { return fake_resource_index(view(name)); };
    t.reason = [](Ctx c, const plimsoll_str* texts, uint32_t count) {
      return of(c).names_.reason({texts, count});
    };
    t.reason_texts = [](Ctx c, uint32_t id) { return of(c).names_.reason_texts(id); };
    t.now_ms = [](Ctx c) { return of(c).now; };
  }
  static void add_cluster(plimsoll_host& t) {
    t.node_by_name = [](Ctx c, plimsoll_str name) {
      return of(c).node_that([&](FakeNode* node) { return node->name() == view(name); });
    };
    t.node_by_slot = [](Ctx c, uint32_t slot) { return of(c).node(slot); };
    t.slot_count = [](Ctx c) {
      uint32_t count = 0;
      for (const FakeNode* node : of(c).nodes_) count = std::max(count, node->slot() + 1);
      return count;
    };
    t.pod_by_uid = [](Ctx c, plimsoll_str uid) -> const plimsoll_pod* {
      for (const plimsoll_pod* pod : of(c).pods) {
        if (view(pod->meta.uid) == view(uid)) return pod;
      }
      return nullptr;
    };
    t.touch_node = [](Ctx c, uint32_t slot, uint32_t aspects) {
      of(c).touched.emplace_back(slot, aspects);
    };
    t.watch = [](Ctx c, plimsoll_str group, plimsoll_str version, plimsoll_str plural) -> int32_t {
      of(c).watched.push_back(text(plural) + "." + text(version) + "." + text(group));
      return PLIMSOLL_SUCCESS;
    };
    t.publish = [](Ctx c, plimsoll_str name, uint32_t version, const void* table) -> int32_t {
      const bool added = of(c).services.try_emplace(text(name), version, table).second;
      return added ? PLIMSOLL_SUCCESS : PLIMSOLL_ERROR;
    };
    t.find_service = [](Ctx c, plimsoll_str name, uint32_t min_version) -> const void* {
      const auto found = of(c).services.find(text(name));
      if (found == of(c).services.end() || found->second.first < min_version) return nullptr;
      return found->second.second;
    };
    t.object = [](Ctx c, plimsoll_str resource, plimsoll_str ns,
                  plimsoll_str name) -> const plimsoll_object* {
      const auto& kind = of(c).objects[text(resource)];
      const auto found = kind.find({text(ns), text(name)});
      return found == kind.end() ? nullptr : found->second;
    };
    t.objects = [](Ctx c, plimsoll_str resource, plimsoll_str ns) {
      of(c).listed_.clear();
      for (const auto& [key, object] : of(c).objects[text(resource)]) {
        if (ns.len == 0 || key.first == view(ns)) of(c).listed_.push_back(object);
      }
      return list_of<const plimsoll_object*>(of(c).listed_);
    };
    t.requeue_rejected = [](Ctx c) { ++of(c).requeued; };
    t.emit_event = [](Ctx c, const plimsoll_pod*, uint32_t warning, plimsoll_str reason,
                      plimsoll_str, plimsoll_str note) {
      of(c).events.push_back((warning != 0 ? "Warning " : "Normal ") + text(reason) + ": " +
                             text(note));
    };
  }
  static void add_binding(plimsoll_host& t) {
    t.binding_cancelled = [](Ctx c, plimsoll_str uid) -> uint32_t {
      const auto& all = of(c).bindings_cancelled;
      return std::find(all.begin(), all.end(), view(uid)) != all.end() ? 1 : 0;
    };
    t.waiting_pods = [](Ctx c) { return list_of<plimsoll_waiting_pod>(of(c).waiting); };
    t.allow_waiting = [](Ctx c, plimsoll_str uid) { of(c).allowed.push_back(text(uid)); };
    t.reject_waiting = [](Ctx c, plimsoll_str uid, plimsoll_str message) {
      of(c).rejected.emplace_back(text(uid), text(message));
    };
    t.cancel_binding = [](Ctx c, plimsoll_str uid, plimsoll_str) -> uint32_t {
      if (of(c).bindings_can_be_cancelled) of(c).cancelled.push_back(text(uid));
      return of(c).bindings_can_be_cancelled ? 1 : 0;
    };
    t.add_amounts = [](Ctx c, plimsoll_str uid, plimsoll_list amounts) -> uint32_t {
      auto& kept = of(c).amounts_added[text(uid)];
      kept.clear();
      for (const auto& amount : List<plimsoll_claim_amount>(amounts)) {
        kept.push_back({text(amount.claim), text(amount.resource), amount.mapped, amount.overhead});
      }
      return 1;
    };
    t.activate = [](Ctx c, plimsoll_str uid) { of(c).activated.push_back(text(uid)); };
    t.complete = [](Ctx c, plimsoll_token* token, int32_t code, plimsoll_str message) {
      of(c).completed.push_back({token, code, text(message)});
    };
    t.post_binding = [](Ctx c, plimsoll_cycle*, const plimsoll_pod* pod, plimsoll_str node_name,
                        plimsoll_token* token) -> int32_t {
      of(c).bindings.push_back(text(pod->meta.ns) + "/" + text(pod->meta.name) + " -> " +
                               text(node_name));
      of(c).completed.push_back({token, PLIMSOLL_SUCCESS, ""});
      return PLIMSOLL_WAIT;
    };
    t.run_on_loop = [](Ctx c, int64_t delay_ms, void (*fn)(void*, uint32_t), void* user) {
      of(c).deferred.push_back({delay_ms, fn, user});
    };
    t.api_request = [](Ctx c, const plimsoll_api_request* request,
                       void (*done)(void*, int32_t, plimsoll_str), void* user) {
      of(c).requests.push_back(text(request->method) + " " + text(request->path) + " " +
                               text(request->body));
      if (!of(c).answer) return done(user, of(c).answer_status, str(of(c).answer_body));
      const auto [status, body] = of(c).answer(*request);
      done(user, status, str(body));
    };
  }
  static void add_what_ifs(plimsoll_host& t) {
    t.what_if_begin = [](Ctx c, const plimsoll_cycle* cycle, const plimsoll_pod*, uint32_t slot) {
      const plimsoll_node_info* node = of(c).node(slot);
      return reinterpret_cast<plimsoll_what_if*>(
          node == nullptr ? nullptr : new FakeWhatIf(*node, FakeCycle::of(cycle).clone()));
    };
    t.what_if_add_pod = [](Ctx, plimsoll_what_if* what_if, const plimsoll_pod* pod) -> int32_t {
      of(what_if).add(*pod);
      return PLIMSOLL_SUCCESS;
    };
    t.what_if_remove_pod = [](Ctx c, plimsoll_what_if* what_if,
                              const plimsoll_pod* pod) -> int32_t {
      if (of(what_if).remove(*pod)) return PLIMSOLL_SUCCESS;
      of(c).error = "no such pod in the what-if";
      return PLIMSOLL_ERROR;
    };
    t.what_if_filter = [](Ctx c, plimsoll_what_if* what_if, uint32_t* reason) -> int32_t {
      const std::string verdict = of(c).what_if_verdict ? of(c).what_if_verdict(of(what_if)) : "";
      if (verdict.empty()) return PLIMSOLL_SUCCESS;
      const plimsoll_str one = str(verdict);
      *reason = of(c).names_.reason({&one, 1});
      return PLIMSOLL_UNSCHEDULABLE;
    };
    t.what_if_node = [](Ctx, const plimsoll_what_if* what_if) {
      return &reinterpret_cast<const FakeWhatIf*>(what_if)->node();
    };
    t.what_if_end = [](Ctx, plimsoll_what_if* what_if) { delete &of(what_if); };
    t.nominate = [](Ctx c, const plimsoll_pod* pod, plimsoll_str node_name) {
      of(c).nominations[text(pod->meta.name)] = text(node_name);
    };
    t.nominated_pods = [](Ctx c, plimsoll_str node_name) {
      return list_of<const plimsoll_pod*>(of(c).nominated[text(node_name)]);
    };
  }
  static void add_metrics(plimsoll_host& t) {
    t.metric = [](Ctx c, const plimsoll_metric_spec* spec) {
      plimsoll_metric* made = of(c).metric_specs_.add(*spec);
      if (made == nullptr) of(c).error = "metric \"" + text(spec->name) + "\" is there already";
      return made;
    };
    t.metric_observe = [](Ctx c, plimsoll_metric* metric, const plimsoll_str* values,
                          uint32_t count, double value) {
      FakeMetrics::observe(metric, {values, count}, value, of(c).metrics);
    };
  }

  plimsoll_host table_{};
  std::vector<FakeNode*> nodes_;
  std::vector<const plimsoll_object*> listed_;
  FakeNames names_;
  FakeMetrics metric_specs_;
};

}  // namespace plimsoll::sdk

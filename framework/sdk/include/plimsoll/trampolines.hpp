// Plimsoll plugin SDK, inner part: the arguments of plugin functions, the checks on their
// signatures, and the `noexcept` C functions that call them.
#pragma once

#include <plimsoll/host.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <exception>
#include <new>

#if defined(__has_attribute)
#if __has_attribute(retain)
#define PLIMSOLL_SDK_RETAIN __attribute__((retain))
#endif
#endif
#ifndef PLIMSOLL_SDK_RETAIN
#define PLIMSOLL_SDK_RETAIN
#endif

#define PLIMSOLL_SDK_VERSION "1.0.0"

namespace plimsoll::sdk {

// The candidate nodes of a call; row i goes with codes[i], scores[i].
class Nodes {
 public:
  explicit Nodes(const plimsoll_nodes* nodes) : nodes_(nodes) {}
  [[nodiscard]] size_t size() const { return nodes_->count; }
  [[nodiscard]] Node operator[](size_t i) const { return Node(nodes_->rows[i]); }
  const plimsoll_nodes& operator*() const { return *nodes_; }

 private:
  const plimsoll_nodes* nodes_;
};

// Where a batch filter writes: rows that are already refused stay as they are.
class Verdicts {
 public:
  Verdicts(uint8_t* codes, uint32_t* reasons, size_t count)
      : codes_(codes), reasons_(reasons), count_(count) {}
  [[nodiscard]] size_t size() const { return count_; }
  // Whether row i is still a candidate.
  [[nodiscard]] bool open(size_t i) const { return codes_[i] == PLIMSOLL_SUCCESS; }
  void set(size_t i, Status status) {
    codes_[i] = static_cast<uint8_t>(status.code);
    reasons_[i] = status.reason;
  }

 private:
  uint8_t* codes_;
  uint32_t* reasons_;
  size_t count_;
};

// 24 bytes that order the queue, lowest first. Filled from the left.
class SortKey {
 public:
  SortKey& ascending(int64_t value) {
    return put(std::bit_cast<uint64_t>(value) ^ (uint64_t{1} << 63));
  }
  SortKey& descending(int64_t value) {
    return put(~(std::bit_cast<uint64_t>(value) ^ (uint64_t{1} << 63)));
  }
  [[nodiscard]] const std::array<uint8_t, 24>& bytes() const { return bytes_; }

 private:
  SortKey& put(uint64_t value) {
    for (int shift = 56; shift >= 0 && used_ < bytes_.size(); shift -= 8) {
      bytes_[used_++] = static_cast<uint8_t>(value >> shift);
    }
    return *this;
  }
  std::array<uint8_t, 24> bytes_{};
  size_t used_ = 0;
};

// Narrows an attempt to some nodes: only those named are looked at. Naming none and calling only()
// leaves no node at all.
class NodeNames {
 public:
  void only() { narrowed_ = true; }
  void add(std::string_view name) {
    narrowed_ = true;
    texts_.emplace_back(name);
  }
  [[nodiscard]] bool narrowed() const { return narrowed_; }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  bool narrowed_ = false;
};

// What post_filter does about the pod's nominatedNodeName; untouched, it stays.
class Nomination {
 public:
  void nominate(std::string_view node_name) { set(node_name); }
  void clear() { set({}); }
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const std::string& node_name() const { return node_name_; }

 private:
  void set(std::string_view name) {
    changed_ = true;
    node_name_ = name;
  }
  bool changed_ = false;
  std::string node_name_;
};

enum class Hint : int32_t { kSkip = PLIMSOLL_HINT_SKIP, kQueue = PLIMSOLL_HINT_QUEUE };
enum class NodeEvent : uint32_t {
  kAdded = PLIMSOLL_NODE_ADDED,
  kChanged = PLIMSOLL_NODE_CHANGED,
  kRemoved = PLIMSOLL_NODE_REMOVED
};
enum class PodEvent : uint32_t {
  kAssigned = PLIMSOLL_POD_ASSIGNED,
  kRemoved = PLIMSOLL_POD_REMOVED
};

struct ObjectEvent {
  enum Type : uint32_t {
    kUpsert = PLIMSOLL_OBJECT_UPSERT,
    kDelete = PLIMSOLL_OBJECT_DELETE,
    kSynced = PLIMSOLL_OBJECT_SYNCED  // all that existed was told; name and json are empty
  };
  Type type;
  std::string_view resource;  // "<plural>.<version>.<group>"
  std::string_view name;
  std::string_view ns;
  std::string_view json;
};

// Takes bytes: fragments of a signature, or text of an explanation.
class Sink {
 public:
  using Put = void (*)(void* sink, const void* bytes, size_t len);
  Sink(Put put, void* sink) : put_(put), sink_(sink) {}
  void put(const void* bytes, size_t len) { put_(sink_, bytes, len); }
  void put(std::string_view text) { put_(sink_, text.data(), text.size()); }
  // A text of a signature with its length in front, so that "a","bc" and "ab","c" differ.
  void put_field(std::string_view text) {
    put_value(static_cast<uint64_t>(text.size()));
    put(text);
  }
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void put_value(T value) {
    put_(sink_, &value, sizeof value);
  }

 private:
  Put put_;
  void* sink_;
};

namespace detail {

// ---- the note that the host reads before it loads the file

struct ElfNote {
  uint32_t name_size;
  uint32_t descriptor_size;
  uint32_t type;
  char name[12];
  plimsoll_note descriptor;
};
static_assert(sizeof(ElfNote) == 24 + sizeof(plimsoll_note));

constexpr uint32_t build_flags() {
  uint32_t flags = 0;
#if defined(__SANITIZE_ADDRESS__)
  flags |= PLIMSOLL_BUILD_ASAN;
#endif
#if defined(__SANITIZE_THREAD__)
  flags |= PLIMSOLL_BUILD_TSAN;
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  flags |= PLIMSOLL_BUILD_ASAN;
#endif
#if __has_feature(thread_sanitizer)
  flags |= PLIMSOLL_BUILD_TSAN;
#endif
#endif
#if defined(_GLIBCXX_DEBUG)
  flags |= PLIMSOLL_BUILD_GLIBCXX_DEBUG;
#endif
  return flags;
}

template <size_t Size, size_t Len>
consteval void copy_text(char (&out)[Size], const char (&text)[Len]) {
  static_assert(Len <= Size, "name is at most 63, version and license at most 31 characters long");
  for (size_t i = 0; i < Len; ++i) out[i] = text[i];
}

template <size_t N, size_t V, size_t L>
consteval ElfNote elf_note(const char (&name)[N], const char (&version)[V],
                           const char (&license)[L]) {
  static_assert(N > 1, "a plugin needs a name");
  ElfNote note{};
  note.name_size = sizeof PLIMSOLL_NOTE_NAME;
  note.descriptor_size = sizeof(plimsoll_note);
  note.type = PLIMSOLL_NOTE_TYPE;
  copy_text(note.name, PLIMSOLL_NOTE_NAME);
  note.descriptor.size = sizeof(plimsoll_note);
  note.descriptor.abi_major = PLIMSOLL_ABI_MAJOR;
  note.descriptor.abi_minor = PLIMSOLL_ABI_MINOR;
  note.descriptor.plugin_size = sizeof(plimsoll_plugin);
  note.descriptor.build_flags = build_flags();
  copy_text(note.descriptor.name, name);
  copy_text(note.descriptor.version, version);
  copy_text(note.descriptor.sdk_version, PLIMSOLL_SDK_VERSION);
  copy_text(note.descriptor.license, license);
  return note;
}

// ---- which functions a class has

// has_X<P>: P has a member of that name, whatever its signature. (Derived from P and from a class
// with such a member, naming it is ambiguous exactly if P has one too.)
#define PLIMSOLL_SDK_MEMBER(member)                \
  struct Fallback_##member {                       \
    int member;                                    \
  };                                               \
  template <typename P>                            \
  struct Probe_##member : P, Fallback_##member {}; \
  template <typename P>                            \
  concept has_##member = !requires {               \
    &Probe_##member<P>::member;                    \
  };

PLIMSOLL_SDK_MEMBER(start)
PLIMSOLL_SDK_MEMBER(pre_enqueue)
PLIMSOLL_SDK_MEMBER(sort_key)
PLIMSOLL_SDK_MEMBER(events)
PLIMSOLL_SDK_MEMBER(hint)
PLIMSOLL_SDK_MEMBER(pre_filter)
PLIMSOLL_SDK_MEMBER(add_pod)
PLIMSOLL_SDK_MEMBER(remove_pod)
PLIMSOLL_SDK_MEMBER(filter)
PLIMSOLL_SDK_MEMBER(filter_node)
PLIMSOLL_SDK_MEMBER(post_filter)
PLIMSOLL_SDK_MEMBER(pre_score)
PLIMSOLL_SDK_MEMBER(score)
PLIMSOLL_SDK_MEMBER(score_node)
PLIMSOLL_SDK_MEMBER(normalize)
PLIMSOLL_SDK_MEMBER(reserve)
PLIMSOLL_SDK_MEMBER(unreserve)
PLIMSOLL_SDK_MEMBER(permit)
PLIMSOLL_SDK_MEMBER(pre_bind_pre_flight)
PLIMSOLL_SDK_MEMBER(pre_bind)
PLIMSOLL_SDK_MEMBER(bind)
PLIMSOLL_SDK_MEMBER(post_bind)
PLIMSOLL_SDK_MEMBER(sign)
PLIMSOLL_SDK_MEMBER(node_event)
PLIMSOLL_SDK_MEMBER(pod_event)
PLIMSOLL_SDK_MEMBER(object_event)
PLIMSOLL_SDK_MEMBER(explain)
PLIMSOLL_SDK_MEMBER(filter_aspects)
PLIMSOLL_SDK_MEMBER(score_aspects)
#undef PLIMSOLL_SDK_MEMBER

// ---- the object behind plimsoll_plugin.self

template <typename P>
struct Instance {
  Instance(const plimsoll_host* table, std::string_view args, std::string_view name)
      : host(table, name), plugin(make(host, args)) {}

  static P make(const Host& host, std::string_view args) {
    if constexpr (std::is_constructible_v<P, Host, std::string_view>) {
      return P(host, args);
    } else {
      static_assert(std::is_constructible_v<P, Host>,
                    "a plugin is constructed from (Host, std::string_view args_json) or (Host)");
      return P(host);
    }
  }

  Host host;
  P plugin;
  std::vector<plimsoll_event_interest> interests;  // what events() said
  NodeNames names;                                 // what the last pre_filter narrowed to
  std::vector<plimsoll_str> name_views;
  Nomination nomination;  // of the last post_filter
};

template <typename P>
Instance<P>& of(void* self) {
  return *static_cast<Instance<P>*>(self);
}
template <typename P>
const Instance<P>& of(const void* self) {
  return *static_cast<const Instance<P>*>(self);
}

// Runs `call`; an exception becomes an error with its text.
template <typename Call>
int32_t guarded(const Host& host, const Call& call) noexcept {
  try {
    return call();
  } catch (const std::exception& e) {
    host.table().set_error(host.table().ctx, str(e.what()));
  } catch (...) {
    host.table().set_error(host.table().ctx, str("an exception that is no std::exception"));
  }
  return PLIMSOLL_ERROR;
}

// The same for functions that return nothing: the text goes to the log.
template <typename Call>
void logged(const Host& host, std::string_view function, const Call& call) noexcept {
  try {
    call();
    return;
  } catch (const std::exception& e) {
    try {
      host.error_log(std::string(function) + ": " + e.what());
    } catch (...) {
      host.error_log("out of memory");
    }
  } catch (...) {
    host.error_log("an exception that is no std::exception");
  }
}

inline int32_t give(Status status, uint32_t* reason) {
  *reason = status.reason;
  return status.code;
}

template <typename P>
void fill_queue(plimsoll_plugin& out) {
  if constexpr (has_pre_enqueue<P>) {
    static_assert(
        requires(P p, Pod pod) {
          { p.pre_enqueue(pod) } -> std::same_as<Status>;
        },
        "must be: Status pre_enqueue(Pod)");
    out.pre_enqueue = [](void* self, const plimsoll_pod* pod, uint32_t* reason) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] { return give(i.plugin.pre_enqueue(Pod(pod)), reason); });
    };
  }
  if constexpr (has_sort_key<P>) {
    static_assert(
        requires(P p, Pod pod) {
          { p.sort_key(pod, int64_t{}) } -> std::convertible_to<SortKey>;
        },
        "must be: SortKey sort_key(Pod, int64_t queued_ms)");
    out.sort_key = [](void* self, const plimsoll_pod* pod, int64_t queued_ms,
                      uint8_t key[24]) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&]() -> int32_t {
        const SortKey made = i.plugin.sort_key(Pod(pod), queued_ms);
        std::copy(made.bytes().begin(), made.bytes().end(), key);
        return PLIMSOLL_SUCCESS;
      });
    };
  }
  if constexpr (has_events<P>) {
    static_assert(
        requires(P p) {
          std::vector<plimsoll_event_interest>(std::begin(p.events()), std::end(p.events()));
        } || requires(P p) { std::span<const plimsoll_event_interest>(p.events()); },
        "events() must return a range of plimsoll_event_interest");
    out.events = [](void* self) noexcept -> plimsoll_list {
      Instance<P>& i = of<P>(self);
      logged(i.host, "events", [&] {
        auto&& all = i.plugin.events();
        i.interests.assign(std::begin(all), std::end(all));
      });
      return list_of<plimsoll_event_interest>(i.interests);
    };
  }
  if constexpr (has_hint<P>) {
    static_assert(
        requires(P p, Pod pod, const plimsoll_event& e) {
          { p.hint(pod, e) } -> std::same_as<Hint>;
        },
        "must be: Hint hint(Pod, const plimsoll_event&)");
    out.hint = [](void* self, const plimsoll_pod* pod, const plimsoll_event* event) noexcept {
      Instance<P>& i = of<P>(self);
      int32_t hint = PLIMSOLL_HINT_QUEUE;  // rather one attempt too many than a pod forgotten
      logged(i.host, "hint", [&] { hint = static_cast<int32_t>(i.plugin.hint(Pod(pod), *event)); });
      return hint;
    };
  }
}

template <typename P>
int32_t call_pre_filter(Instance<P>& i, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                        uint32_t* reason, plimsoll_list* names, uint32_t* narrowed) {
  *narrowed = 0;
  if constexpr (requires(P p, plimsoll_cycle & c, Pod q) {
                  { p.pre_filter(c, q) } -> std::same_as<Status>;
                }) {
    return give(i.plugin.pre_filter(*cycle, Pod(pod)), reason);
  } else {
    i.names = NodeNames();
    const Status status = i.plugin.pre_filter(*cycle, Pod(pod), i.names);
    i.name_views.clear();
    for (const std::string& name : i.names.texts()) i.name_views.push_back(str(name));
    *narrowed = i.names.narrowed() ? 1 : 0;
    *names = list_of<plimsoll_str>(i.name_views);
    return give(status, reason);
  }
}

template <typename P>
void fill_filter(plimsoll_plugin& out) {
  if constexpr (has_pre_filter<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, NodeNames & n) {
          { p.pre_filter(c, pod, n) } -> std::same_as<Status>;
        } ||
            requires(P p, plimsoll_cycle & c, Pod pod) {
              { p.pre_filter(c, pod) } -> std::same_as<Status>;
            },
        "must be: Status pre_filter(plimsoll_cycle&, Pod) or (plimsoll_cycle&, Pod, NodeNames&)");
    out.pre_filter = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                        uint32_t* reason, plimsoll_list* names, uint32_t* narrowed) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host,
                     [&] { return call_pre_filter(i, cycle, pod, reason, names, narrowed); });
    };
  }
  if constexpr (has_add_pod<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Node n) {
          { p.add_pod(c, pod, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status add_pod(plimsoll_cycle&, Pod, Pod added, Node)");
    static_assert(has_remove_pod<P>, "add_pod needs its inverse, remove_pod");
    out.add_pod = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                     const plimsoll_pod* added, const plimsoll_node_info* node) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(
          i.host, [&] { return i.plugin.add_pod(*cycle, Pod(pod), Pod(added), Node(node)).code; });
    };
  }
  if constexpr (has_remove_pod<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Node n) {
          { p.remove_pod(c, pod, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status remove_pod(plimsoll_cycle&, Pod, Pod removed, Node)");
    static_assert(has_add_pod<P>, "remove_pod needs its inverse, add_pod");
    out.remove_pod = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                        const plimsoll_pod* removed, const plimsoll_node_info* node) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin.remove_pod(*cycle, Pod(pod), Pod(removed), Node(node)).code;
      });
    };
  }
  if constexpr (has_filter<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Nodes n, Verdicts v) {
          { p.filter(c, pod, n, v) } -> std::same_as<Status>;
        },
        "must be: Status filter(const plimsoll_cycle&, Pod, Nodes, Verdicts) const");
    static_assert(!has_filter_node<P>, "filter and filter_node are two forms of one function");
    out.filter = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                    const plimsoll_nodes* nodes, uint8_t* codes, uint32_t* reasons) noexcept {
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin
            .filter(*cycle, Pod(pod), Nodes(nodes), Verdicts(codes, reasons, nodes->count))
            .code;
      });
    };
  } else if constexpr (has_filter_node<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Node n) {
          { p.filter_node(c, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status filter_node(const plimsoll_cycle&, Pod, Node) const");
    out.filter = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                    const plimsoll_nodes* nodes, uint8_t* codes, uint32_t* reasons) noexcept {
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&]() -> int32_t {
        Verdicts verdicts(codes, reasons, nodes->count);
        for (size_t row = 0; row < nodes->count; ++row) {
          if (!verdicts.open(row)) continue;
          const Status status = i.plugin.filter_node(*cycle, Pod(pod), Node(nodes->rows[row]));
          if (status.code == PLIMSOLL_ERROR) return PLIMSOLL_ERROR;
          verdicts.set(row, status);
        }
        return PLIMSOLL_SUCCESS;
      });
    };
  }
  if constexpr (has_post_filter<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Nodes n, std::span<const uint8_t> s,
                 Nomination & nomination) {
          { p.post_filter(c, pod, n, s, nomination) } -> std::same_as<Status>;
        },
        "must be: Status post_filter(plimsoll_cycle&, Pod, Nodes, std::span<const uint8_t>, "
        "Nomination&)");
    out.post_filter = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                         const plimsoll_nodes* nodes, const uint8_t* codes, plimsoll_str* nominated,
                         uint32_t* reason) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        i.nomination = Nomination();
        const Status status = i.plugin.post_filter(*cycle, Pod(pod), Nodes(nodes),
                                                   std::span(codes, nodes->count), i.nomination);
        if (i.nomination.changed()) *nominated = str(i.nomination.node_name());
        return give(status, reason);
      });
    };
  }
}

template <typename P>
void fill_score(plimsoll_plugin& out) {
  if constexpr (has_pre_score<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Nodes n) {
          { p.pre_score(c, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status pre_score(plimsoll_cycle&, Pod, Nodes)");
    out.pre_score = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       const plimsoll_nodes* nodes) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host,
                     [&] { return i.plugin.pre_score(*cycle, Pod(pod), Nodes(nodes)).code; });
    };
  }
  if constexpr (has_score<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Nodes n, std::span<int64_t> s) {
          { p.score(c, pod, n, s) } -> std::same_as<Status>;
        },
        "must be: Status score(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t>) const");
    static_assert(!has_score_node<P>, "score and score_node are two forms of one function");
    out.score = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                   const plimsoll_nodes* nodes, int64_t* scores) noexcept {
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin.score(*cycle, Pod(pod), Nodes(nodes), std::span(scores, nodes->count)).code;
      });
    };
  } else if constexpr (has_score_node<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Node n) {
          { p.score_node(c, pod, n) } -> std::same_as<int64_t>;
        },
        "must be: int64_t score_node(const plimsoll_cycle&, Pod, Node) const");
    out.score = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                   const plimsoll_nodes* nodes, int64_t* scores) noexcept {
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&]() -> int32_t {
        for (size_t row = 0; row < nodes->count; ++row) {
          scores[row] = i.plugin.score_node(*cycle, Pod(pod), Node(nodes->rows[row]));
        }
        return PLIMSOLL_SUCCESS;
      });
    };
  }
  if constexpr (has_normalize<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Nodes n, std::span<int64_t> s) {
          { p.normalize(c, pod, n, s) } -> std::same_as<Status>;
        },
        "must be: Status normalize(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t>) const");
    static_assert(has_score<P> || has_score_node<P>, "normalize needs score or score_node");
    out.normalize = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       const plimsoll_nodes* nodes, int64_t* scores) noexcept {
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin.normalize(*cycle, Pod(pod), Nodes(nodes), std::span(scores, nodes->count))
            .code;
      });
    };
  }
}

template <typename P>
void fill_reserve(plimsoll_plugin& out) {
  if constexpr (has_reserve<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Node n) {
          { p.reserve(c, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status reserve(plimsoll_cycle&, Pod, Node)");
    static_assert(has_unreserve<P>, "reserve needs its inverse, unreserve");
    out.reserve = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                     const plimsoll_node_info* node, uint32_t* reason) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host,
                     [&] { return give(i.plugin.reserve(*cycle, Pod(pod), Node(node)), reason); });
    };
  }
  if constexpr (has_unreserve<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n) {
          { p.unreserve(c, pod, n) } -> std::same_as<void>;
        },
        "must be: void unreserve(plimsoll_cycle&, Pod, std::string_view node_name)");
    out.unreserve = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       plimsoll_str node_name) noexcept {
      Instance<P>& i = of<P>(self);
      logged(i.host, "unreserve", [&] { i.plugin.unreserve(*cycle, Pod(pod), view(node_name)); });
    };
  }
  if constexpr (has_permit<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Node n, int64_t & t) {
          { p.permit(c, pod, n, t) } -> std::same_as<Status>;
        },
        "must be: Status permit(plimsoll_cycle&, Pod, Node, int64_t& timeout_ms)");
    out.permit = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                    const plimsoll_node_info* node, int64_t* timeout_ms,
                    uint32_t* reason) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return give(i.plugin.permit(*cycle, Pod(pod), Node(node), *timeout_ms), reason);
      });
    };
  }
}

template <typename P>
void fill_bind(plimsoll_plugin& out) {
  if constexpr (has_pre_bind_pre_flight<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n, bool& b) {
          { p.pre_bind_pre_flight(c, pod, n, b) } -> std::same_as<Status>;
        },
        "must be: Status pre_bind_pre_flight(plimsoll_cycle&, Pod, std::string_view, bool&)");
    static_assert(has_pre_bind<P>, "pre_bind_pre_flight needs pre_bind");
    out.pre_bind_pre_flight = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                                 plimsoll_str node_name, uint32_t* allow_parallel) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        bool parallel = false;
        const Status status =
            i.plugin.pre_bind_pre_flight(*cycle, Pod(pod), view(node_name), parallel);
        *allow_parallel = parallel ? 1 : 0;
        return status.code;
      });
    };
  }
  if constexpr (has_pre_bind<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n) {
          { p.pre_bind(c, pod, n, Token{}) } -> std::same_as<Status>;
        },
        "must be: Status pre_bind(plimsoll_cycle&, Pod, std::string_view node_name, Token)");
    out.pre_bind = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                      plimsoll_str node_name, plimsoll_token* token) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin.pre_bind(*cycle, Pod(pod), view(node_name), Token{token}).code;
      });
    };
  }
  if constexpr (has_bind<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n) {
          { p.bind(c, pod, n, Token{}) } -> std::same_as<Status>;
        },
        "must be: Status bind(plimsoll_cycle&, Pod, std::string_view node_name, Token)");
    out.bind = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                  plimsoll_str node_name, plimsoll_token* token) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin.bind(*cycle, Pod(pod), view(node_name), Token{token}).code;
      });
    };
  }
  if constexpr (has_post_bind<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n) {
          { p.post_bind(c, pod, n) } -> std::same_as<void>;
        },
        "must be: void post_bind(plimsoll_cycle&, Pod, std::string_view node_name)");
    out.post_bind = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       plimsoll_str node_name) noexcept {
      Instance<P>& i = of<P>(self);
      logged(i.host, "post_bind", [&] { i.plugin.post_bind(*cycle, Pod(pod), view(node_name)); });
    };
  }
}

template <typename P>
void fill_state(plimsoll_plugin& out) {
  if constexpr (has_start<P>) {
    static_assert(
        requires(P p) {
          { p.start() } -> std::same_as<void>;
        },
        "must be: void start()");
    out.start = [](void* self) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&]() -> int32_t {
        i.plugin.start();
        return PLIMSOLL_SUCCESS;
      });
    };
  }
  if constexpr (has_sign<P>) {
    static_assert(
        requires(P p, Pod pod, Sink & s) {
          { p.sign(pod, s) } -> std::same_as<Status>;
        },
        "must be: Status sign(Pod, Sink&)");
    out.sign = [](void* self, const plimsoll_pod* pod, Sink::Put put, void* sink) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        Sink to(put, sink);
        return i.plugin.sign(Pod(pod), to).code;
      });
    };
  }
  if constexpr (has_node_event<P>) {
    static_assert(
        requires(P p, Node n) {
          { p.node_event(NodeEvent::kAdded, n, uint32_t{}) } -> std::same_as<void>;
        },
        "must be: void node_event(NodeEvent, Node, uint32_t aspects)");
    out.node_event = [](void* self, uint32_t type, const plimsoll_node_info* node,
                        uint32_t aspects) noexcept {
      Instance<P>& i = of<P>(self);
      logged(i.host, "node_event",
             [&] { i.plugin.node_event(static_cast<NodeEvent>(type), Node(node), aspects); });
    };
  }
  if constexpr (has_pod_event<P>) {
    static_assert(
        requires(P p, Pod pod, std::string_view n) {
          { p.pod_event(PodEvent::kAssigned, pod, n) } -> std::same_as<void>;
        },
        "must be: void pod_event(PodEvent, Pod, std::string_view node_name)");
    out.pod_event = [](void* self, uint32_t type, const plimsoll_pod* pod,
                       plimsoll_str node_name) noexcept {
      Instance<P>& i = of<P>(self);
      logged(i.host, "pod_event",
             [&] { i.plugin.pod_event(static_cast<PodEvent>(type), Pod(pod), view(node_name)); });
    };
  }
  if constexpr (has_object_event<P>) {
    static_assert(
        requires(P p, const ObjectEvent& e) {
          { p.object_event(e) } -> std::same_as<void>;
        },
        "must be: void object_event(const ObjectEvent&)");
    out.object_event = [](void* self, uint32_t type, plimsoll_str resource, plimsoll_str name,
                          plimsoll_str ns, plimsoll_str json) noexcept {
      Instance<P>& i = of<P>(self);
      logged(i.host, "object_event", [&] {
        i.plugin.object_event(ObjectEvent{static_cast<ObjectEvent::Type>(type), view(resource),
                                          view(name), view(ns), view(json)});
      });
    };
  }
  if constexpr (has_explain<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Node n, Sink& s) {
          { p.explain(c, pod, n, s) } -> std::same_as<void>;
        },
        "must be: void explain(const plimsoll_cycle&, Pod, Node, Sink&) const");
    out.explain = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                     const plimsoll_node_info* node, Sink::Put put, void* sink) noexcept {
      const Instance<P>& i = of<P>(self);
      logged(i.host, "explain", [&] {
        Sink to(put, sink);
        i.plugin.explain(*cycle, Pod(pod), Node(node), to);
      });
    };
  }
}

// Makes the plugin and fills in its table; the host's memory may be smaller than this SDK's idea of
// it (an older host), then the rest is left out.
template <typename P>
int32_t create(const plimsoll_host* host, plimsoll_str args_json, plimsoll_plugin* out,
               std::string_view name) noexcept {
  static_assert(!std::is_final_v<P>, "a plugin class must not be final");
  try {
    auto instance = std::make_unique<Instance<P>>(host, view(args_json), name);
    plimsoll_plugin table{};
    fill_queue<P>(table);
    fill_filter<P>(table);
    fill_score<P>(table);
    fill_reserve<P>(table);
    fill_bind<P>(table);
    fill_state<P>(table);
    if constexpr (has_filter_aspects<P>) table.filter_aspects = P::filter_aspects;
    if constexpr (has_score_aspects<P>) table.score_aspects = P::score_aspects;
    table.destroy = [](void* self) noexcept { delete static_cast<Instance<P>*>(self); };
    table.size = std::min<uint32_t>(out->size, sizeof table);
    table.self = instance.get();
    std::copy_n(reinterpret_cast<const std::byte*>(&table), table.size,
                reinterpret_cast<std::byte*>(out));
    static_cast<void>(instance.release());
    return PLIMSOLL_SUCCESS;
  } catch (const std::exception& e) {
    host->set_error(host->ctx, str(e.what()));
  } catch (...) {
    host->set_error(host->ctx, str("an exception that is no std::exception"));
  }
  return PLIMSOLL_ERROR;
}

}  // namespace detail
}  // namespace plimsoll::sdk

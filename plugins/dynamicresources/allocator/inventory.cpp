#include "plugins/dynamicresources/allocator/inventory.hpp"

#include <algorithm>
#include <unordered_set>

namespace plimsoll::dra {

struct Inventory::Pool {
  struct Generation {
    size_t slices = 0;
    size_t without_groups = 0;  // compatibility groups
    // Of all slices without groups; made when a node sees only some of them.
    std::shared_ptr<const CounterTable> counters;
    bool counted = false;
  };

  std::string driver, name;
  uint32_t number = 0;
  uint64_t changed = 0;
  Slices all, shared;                             // by name
  std::unordered_map<std::string, Slices> local;  // by node
  std::map<int64_t, Generation> generations;
  // Of nodes that see nothing but shared slices: most see the same ones.
  std::vector<std::pair<std::vector<KnownSlice*>, std::shared_ptr<const PoolView>>> views;
};

struct Inventory::View {
  NodePools pools;
  uint64_t checked = 0;  // when it was known to be good
  uint64_t shared_changed = 0;
  uint64_t local_changed = 0;
  std::vector<std::pair<std::shared_ptr<Pool>, uint64_t>> seen;
};

template <typename T>
class Inventory::Questions {
 public:
  // `devices`: of each an answer is kept. `forget` hears of slots whose answers are not needed any
  // more.
  std::shared_ptr<T> ask(const std::string& text, uint64_t devices,
                         const std::function<void(uint32_t slot)>& forget) {
    auto found = by_text_.find(text);
    if (found == by_text_.end()) {
      const uint64_t most = std::clamp<uint64_t>(kMostAnswers / (devices + 1), 16, 256);
      while (by_text_.size() >= most && drop_oldest()) forget(free_.back());
      auto question = std::make_shared<T>();
      question->text = text;
      question->epoch = ++epoch_;
      if (free_.empty()) {
        question->slot = static_cast<uint32_t>(by_text_.size());
      } else {
        question->slot = free_.back();
        free_.pop_back();
      }
      found = by_text_.emplace(text, std::move(question)).first;
    }
    found->second->asked = ++clock_;
    return found->second;
  }
  uint64_t next_epoch() { return ++epoch_; }

 private:
  static constexpr uint64_t kMostAnswers = 16'000'000;  // of a byte, or of four

  bool drop_oldest() {
    auto oldest = by_text_.end();
    for (auto at = by_text_.begin(); at != by_text_.end(); ++at) {
      if (at->second.use_count() > 1) continue;
      if (oldest == by_text_.end() || at->second->asked < oldest->second->asked) oldest = at;
    }
    if (oldest == by_text_.end()) return false;
    free_.push_back(oldest->second->slot);
    by_text_.erase(oldest);
    return true;
  }

  std::unordered_map<std::string, std::shared_ptr<T>> by_text_;
  std::vector<uint32_t> free_;
  uint64_t epoch_ = 0;
  uint64_t clock_ = 0;
};

namespace {

// NodeMatches. Nothing: the selector cannot be read.
// `place`: a slice, or a device of its own place.
std::optional<bool> is_at(const Node& node, const auto& place) {
  if (place.node_name && !place.node_name->empty()) return *place.node_name == node.name;
  if (place.all_nodes) return true;
  // The API server admits one term only; no claim could say what several mean.
  const std::optional<NodeSelector>& selector = place.node_selector;
  return selector && selector->terms.size() == 1 ? matches(*selector, node) : false;
}

bool is_local(const Slice& slice) {
  return slice.node_name && !slice.node_name->empty();
}

// Nothing: a selector cannot be read.
std::optional<bool> is_relevant(const KnownSlice& slice, const Node& node) {
  const Slice& spec = slice.spec;
  if (is_local(spec) || spec.all_nodes || spec.node_selector) {
    return is_at(node, spec);
  }
  if (!spec.per_device_nodes) return false;
  for (const Device& device : spec.devices) {
    const auto match = is_at(node, device);
    if (!match || *match) return match;
  }
  return false;
}

bool has_twice(const std::vector<const KnownDevice*>& devices) {
  std::unordered_set<uint32_t> numbers;
  return std::any_of(devices.begin(), devices.end(),
                     [&](const auto* device) { return !numbers.insert(device->number).second; });
}

bool has_footprint(const Slice& slice) {
  return std::any_of(slice.devices.begin(), slice.devices.end(),
                     [](const Device& device) { return !device.allocatable.empty(); });
}

}  // namespace

Inventory::Inventory(DeviceNumbers& numbers, Judge judge, Gates gates)
    : numbers_(numbers),
      judge_(std::move(judge)),
      gates_(gates),
      expressions_(std::make_unique<Questions<Question>>()),
      attributes_(std::make_unique<Questions<AttributeQuestion>>()) {}

Inventory::~Inventory() {
  for (const auto& [name, pool] : pools_) numbers_.give_back_pool(pool->number);
}

void Inventory::set(Slice slice) {
  auto& kept = slices_[slice.name];
  if (kept) drop(*kept);
  kept = std::make_unique<KnownSlice>(std::move(slice), numbers_);
  const Slice& spec = kept->spec;
  devices_ += spec.devices.size();
  allocatable_ += has_footprint(spec) ? 1 : 0;
  for (const KnownDevice& device : kept->devices) {
    if (device.number >= known_.size()) known_.resize(device.number + size_t{1});
    known_[device.number] = &device;
  }
  const PoolName name(spec.driver, spec.pool);
  std::shared_ptr<Pool>& pool = pools_[name];
  if (!pool) {
    pool = std::make_shared<Pool>();
    pool->driver = spec.driver;
    pool->name = spec.pool;
    pool->number = numbers_.take_pool(spec.driver, spec.pool);
  }
  pool->changed = ++clock_;
  pool->views.clear();
  pool->all[spec.name] = kept.get();
  auto& generation = pool->generations[spec.generation];
  ++generation.slices;
  generation.without_groups += kept->uses_groups ? 0 : 1;
  generation.counters = nullptr;
  generation.counted = false;
  if (is_local(spec)) {
    pool->local[*spec.node_name][spec.name] = kept.get();
    local_[*spec.node_name].insert(name);
    if (const auto view = views_.find(*spec.node_name); view != views_.end()) {
      view->second->local_changed = clock_;
    }
  } else {
    pool->shared[spec.name] = kept.get();
    shared_.insert(name);
    shared_changed_ = clock_;
  }
}

void Inventory::remove(std::string_view slice) {
  const auto found = slices_.find(std::string(slice));
  if (found == slices_.end()) return;
  drop(*found->second);
  slices_.erase(found);
}

void Inventory::drop(KnownSlice& slice) {
  const Slice& spec = slice.spec;
  devices_ -= spec.devices.size();
  allocatable_ -= has_footprint(spec) ? 1 : 0;
  for (const KnownDevice& device : slice.devices) {
    if (known_[device.number] == &device) known_[device.number] = nullptr;
  }
  const PoolName name(spec.driver, spec.pool);
  const auto at = pools_.find(name);
  Pool& pool = *at->second;
  pool.changed = ++clock_;
  pool.views.clear();
  pool.all.erase(spec.name);
  const auto generation = pool.generations.find(spec.generation);
  generation->second.without_groups -= slice.uses_groups ? 0 : 1;
  generation->second.counters = nullptr;
  generation->second.counted = false;
  if (--generation->second.slices == 0) pool.generations.erase(generation);
  if (is_local(spec)) {
    Slices& local = pool.local[*spec.node_name];
    local.erase(spec.name);
    if (local.empty()) {
      pool.local.erase(*spec.node_name);
      auto& pools = local_[*spec.node_name];
      pools.erase(name);
      if (pools.empty()) local_.erase(*spec.node_name);
    }
    if (const auto view = views_.find(*spec.node_name); view != views_.end()) {
      view->second->local_changed = clock_;
    }
  } else {
    pool.shared.erase(spec.name);
    if (pool.shared.empty()) shared_.erase(name);
    shared_changed_ = clock_;
  }
  if (!pool.all.empty()) return;
  numbers_.give_back_pool(pool.number);
  pools_.erase(at);
}

void Inventory::each_slice(const std::function<void(Slice&)>& change) {
  for (const auto& [name, slice] : slices_) change(slice->spec);
}

void Inventory::forget(std::string_view node) {
  views_.erase(std::string(node));
}

const KnownDevice* Inventory::find(std::string_view driver, std::string_view pool,
                                   std::string_view device) const {
  const std::optional<uint32_t> number = numbers_.find_device(driver, pool, device);
  return number && *number < known_.size() ? known_[*number] : nullptr;
}

const KnownSlice* Inventory::slice(const std::string& name) const {
  const auto found = slices_.find(name);
  return found == slices_.end() ? nullptr : found->second.get();
}

bool Inventory::reaches(const Node& node, const KnownDevice& device) {
  const Slice& slice = device.slice->spec;
  return (slice.per_device_nodes ? is_at(node, *device.device) : is_at(node, slice))
      .value_or(false);
}

void Inventory::each_of(std::string_view node,
                        const std::function<void(const KnownDevice&)>& use) const {
  const auto local = local_.find(std::string(node));
  if (local == local_.end()) return;
  for (const PoolName& name : local->second) {
    for (const auto& [slice_name, slice] : pools_.at(name)->local.at(local->first)) {
      for (const KnownDevice& device : slice->devices) use(device);
    }
  }
}

std::vector<std::string> Inventory::nodes() const {
  std::vector<std::string> names;
  for (const auto& [node, pools] : local_)
    if (!pools.empty()) names.push_back(node);
  return names;
}

const NodePools& Inventory::on(const Node& node) {
  auto found = views_.find(node.name);
  if (found == views_.end()) found = views_.emplace(node.name, nullptr).first;
  std::unique_ptr<View>& kept = found->second;
  if (kept && kept->checked == clock_) return kept->pools;
  const bool good = kept && kept->local_changed == 0 && kept->shared_changed == shared_changed_ &&
                    std::all_of(kept->seen.begin(), kept->seen.end(), [](const auto& seen) {
                      return seen.first->changed == seen.second;
                    });
  if (!good) kept = view(node);
  kept->checked = clock_;
  return kept->pools;
}

std::unique_ptr<Inventory::View> Inventory::view(const Node& node) {
  auto made = std::make_unique<View>();
  made->shared_changed = shared_changed_;
  std::set<PoolName> names = shared_;
  if (const auto local = local_.find(std::string(node.name)); local != local_.end()) {
    names.insert(local->second.begin(), local->second.end());
  }
  for (const PoolName& name : names) add_pool(node, pools_.at(name), *made);
  // Pools with binding conditions come last; else by driver and pool, as they are.
  auto& pools = made->pools.pools;
  std::stable_partition(pools.begin(), pools.end(),
                        [](const auto& entry) { return !entry.view->binds_conditionally; });
  made->pools.any_invalid = std::any_of(pools.begin(), pools.end(), [](const auto& entry) {
    return entry.view->state == PoolView::State::kInvalid;
  });
  return made;
}

// GatherPools, for one pool.
void Inventory::add_pool(const Node& node, const std::shared_ptr<Pool>& pool, View& view) {
  const auto local = pool->local.find(std::string(node.name));
  std::vector<KnownSlice*> relevant;
  const auto look_at = [&](const Slices& slices) {
    for (const auto& [name, slice] : slices) {
      if (slice->uses_groups) continue;
      const std::optional<bool> reached = is_relevant(*slice, node);
      if (!reached && view.pools.error.empty()) {
        view.pools.error = "gather pool information: failed to perform node selection for slice " +
                           name + ": failed to parse node selector";
      }
      if (!reached.value_or(false)) continue;
      const int64_t best =
          relevant.empty() ? slice->spec.generation : relevant.front()->spec.generation;
      if (slice->spec.generation < best) continue;
      if (slice->spec.generation > best) relevant.clear();
      relevant.push_back(slice);
    }
  };
  const bool has_local = local != pool->local.end();
  if (has_local) look_at(local->second);
  look_at(pool->shared);
  if (has_local || !relevant.empty()) view.seen.emplace_back(pool, pool->changed);
  if (relevant.empty()) return;
  std::sort(relevant.begin(), relevant.end(),
            [](const auto* a, const auto* b) { return a->spec.name < b->spec.name; });

  NodePools::Entry entry;
  if (has_local) {
    entry.view = pool_view(*pool, std::move(relevant));
  } else {
    const auto kept = std::find_if(pool->views.begin(), pool->views.end(),
                                   [&](const auto& one) { return one.first == relevant; });
    if (kept != pool->views.end()) {
      entry.view = kept->second;
    } else {
      entry.view = pool_view(*pool, relevant);
      constexpr size_t kViews = 4;
      if (pool->views.size() == kViews) pool->views.erase(pool->views.begin());
      pool->views.emplace_back(std::move(relevant), entry.view);
    }
  }
  if (!entry.view) return;
  const auto& devices = entry.view->devices;
  const auto by_device = [](const auto* device) { return device->slice->spec.per_device_nodes; };
  if (std::any_of(devices.begin(), devices.end(), by_device)) {
    for (const KnownDevice* known : devices)
      entry.here.push_back(!by_device(known) || reaches(node, *known));
  }
  view.pools.pools.push_back(std::move(entry));
}

// Nothing: the pool is about to be replaced by a newer generation that this node does not see.
std::shared_ptr<const PoolView> Inventory::pool_view(Pool& pool,
                                                     std::vector<KnownSlice*> relevant) {
  auto view = std::make_shared<PoolView>();
  view->driver = pool.driver;
  view->pool = pool.name;
  view->number = pool.number;
  const Slice& first = relevant.front()->spec;
  if (static_cast<int64_t>(relevant.size()) == first.slice_count) {
    view->counters = CounterTable::of(relevant);
  } else {
    if (pool.generations.rbegin()->first > first.generation) return nullptr;
    auto& generation = pool.generations.at(first.generation);
    if (static_cast<int64_t>(generation.without_groups) != first.slice_count) {
      view->state = PoolView::State::kIncomplete;
      return view;
    }
    if (!generation.counted) {
      std::vector<KnownSlice*> all;
      for (const auto& [name, slice] : pool.all) {
        if (slice->spec.generation == first.generation && !slice->uses_groups) all.push_back(slice);
      }
      generation.counters = CounterTable::of(all);
      generation.counted = true;
    }
    view->counters = generation.counters;
  }
  for (const KnownSlice* slice : relevant) {
    if (!slice->spec.counters.empty()) continue;
    for (const KnownDevice& device : slice->devices) view->devices.push_back(&device);
  }
  if (!view->counters || has_twice(view->devices)) {
    view->state = PoolView::State::kInvalid;
    view->devices.clear();
    return view;
  }
  bool any_draws = false;
  for (const KnownDevice* device : view->devices) {
    view->binds_conditionally =
        view->binds_conditionally || !device->device->binding_conditions.empty();
    view->draws.push_back(view->counters->draws(*device));
    any_draws = any_draws || view->draws.back() != nullptr;
  }
  if (!any_draws) view->draws.clear();
  return view;
}

std::shared_ptr<const Question> Inventory::expression(const std::string& text) {
  return expressions_->ask(text, devices_, [this](uint32_t slot) {
    for (const auto& [name, slice] : slices_)
      if (slot < slice->verdicts.size()) slice->verdicts[slot] = {};
  });
}

std::shared_ptr<AttributeQuestion> Inventory::attribute(const std::string& full_name) {
  auto attribute = attributes_->ask(full_name, devices_, [this](uint32_t slot) {
    for (const auto& [name, slice] : slices_)
      if (slot < slice->attributes.size()) slice->attributes[slot] = {};
  });
  // Values of devices that are gone.
  if (attribute.use_count() == 2 && attribute->numbers.size() > 2 * devices_ + 4096) {
    attribute->numbers.clear();
    attribute->epoch = attributes_->next_epoch();
  }
  return attribute;
}

Judgement::Kind Inventory::verdict(const Question& expression, const KnownDevice& device) const {
  auto& pages = device.slice->verdicts;
  if (expression.slot >= pages.size()) pages.resize(expression.slot + 1);
  VerdictPage& page = pages[expression.slot];
  if (page.epoch != expression.epoch) {
    page.epoch = expression.epoch;
    page.verdicts.assign(device.slice->devices.size(), 0);
  }
  uint8_t& verdict = page.verdicts[device.index];
  if (verdict == 0)
    verdict = static_cast<uint8_t>(1 + static_cast<int>(judge(expression, device).kind));
  return static_cast<Judgement::Kind>(verdict - 1);
}

Judgement Inventory::judge(const Question& expression, const KnownDevice& device) const {
  Judgement made = judge_(expression.text, device.slice->spec.driver, *device.device);
  judged_ += 1 + made.steps;
  return made;
}

uint32_t Inventory::value(AttributeQuestion& attribute, const KnownDevice& device) const {
  auto& pages = device.slice->attributes;
  if (attribute.slot >= pages.size()) pages.resize(attribute.slot + 1);
  AttributePage& page = pages[attribute.slot];
  if (page.epoch != attribute.epoch) {
    page = {};
    page.epoch = attribute.epoch;
    read_attributes(attribute, *device.slice, page);
  }
  return page.values[device.index];
}

void Inventory::read_attributes(AttributeQuestion& attribute, KnownSlice& slice,
                                AttributePage& page) const {
  const size_t slash = attribute.text.find('/');
  const bool own = slash != std::string::npos &&
                   std::string_view(attribute.text).substr(0, slash) == slice.spec.driver;
  const std::string id = own ? attribute.text.substr(slash + 1) : std::string();
  const auto number = [&](AttributeValue value) {
    const auto next = static_cast<uint32_t>(attribute.numbers.size());
    return attribute.numbers.try_emplace(std::move(value), next).first->second;
  };
  const auto read = [&](const AttributeValue& value) {
    return std::visit(
        [&](const auto& held) -> uint32_t {
          if constexpr (requires {
                          held.begin();
                          held.back();
                        } &&
                        !std::is_same_v<std::decay_t<decltype(held)>, std::string>) {
            if (!gates_.list_attributes || held.empty()) return kUnreadValue;
            std::vector<uint32_t> list;
            for (const auto& one : held) {
              list.push_back(
                  number(static_cast<typename std::decay_t<decltype(held)>::value_type>(one)));
            }
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
            page.lists.push_back(std::move(list));
            return static_cast<uint32_t>(kFirstListValue + page.lists.size() - 1);
          } else if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
            return kUnreadValue;
          } else {
            return number(held);
          }
        },
        value);
  };
  for (const Device& device : slice.spec.devices) {
    auto found = device.attributes.find(attribute.text);
    if (found == device.attributes.end() && own) found = device.attributes.find(id);
    page.values.push_back(found == device.attributes.end() ? kNoValue : read(found->second));
  }
}

}  // namespace plimsoll::dra

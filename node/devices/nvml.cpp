#include "node/devices/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "node/devices/sys_tree.hpp"

namespace plimsoll::node {
namespace {

// The part of nvml.h that is used here (NVIDIA's NVML API reference).
using Device = struct nvmlDevice_st*;
using EventSet = struct nvmlEventSet_st*;
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kTimeout = 10;
constexpr unsigned kMaxLinks = 18;
constexpr unsigned kProcessor = 1;  // what a link leads to: POWER's CPUs have NVLinks
constexpr unsigned long long kXidEvent = 8;
// What applications cause by themselves (NVIDIA's device plugin leaves out the same).
constexpr std::array<unsigned long long, 6> kOfApplications{13, 31, 43, 45, 68, 109};
constexpr std::chrono::milliseconds kWait{1'000};

// A function of the library; an older one may lack it.
template <typename... Args>
class Call {
 public:
  void find(void* library, const char* name) {
    name_ = name;
    function_ = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  }
  int operator()(Args... args) const {
    return function_ == nullptr ? kNotSupported : function_(args...);
  }
  [[nodiscard]] const char* name() const { return name_; }

 private:
  const char* name_ = "";
  int (*function_)(Args...) = nullptr;
};

template <std::size_t kSize>
std::string text_of(const std::array<char, kSize>& text) {
  return plain_text({text.data(), std::find(text.begin(), text.end(), '\0')});
}

}  // namespace

struct Nvml::Impl {
  ~Impl() {
    events_thread = {};  // joins
    if (events != nullptr) free_set(events);
    if (started) shutdown();
    if (library != nullptr) dlclose(library);
  }

  void find_all() {
    init.find(library, "nvmlInit_v2");
    shutdown.find(library, "nvmlShutdown");
    driver.find(library, "nvmlSystemGetDriverVersion");
    count.find(library, "nvmlDeviceGetCount_v2");
    by_index.find(library, "nvmlDeviceGetHandleByIndex_v2");
    pci_info.find(library, "nvmlDeviceGetPciInfo_v3");
    uuid.find(library, "nvmlDeviceGetUUID");
    name.find(library, "nvmlDeviceGetName");
    minor.find(library, "nvmlDeviceGetMinorNumber");
    module_id.find(library, "nvmlDeviceGetModuleId");
    memory.find(library, "nvmlDeviceGetMemoryInfo");
    mig_mode.find(library, "nvmlDeviceGetMigMode");
    mig_count.find(library, "nvmlDeviceGetMaxMigDeviceCount");
    mig_by_index.find(library, "nvmlDeviceGetMigDeviceHandleByIndex");
    link_state.find(library, "nvmlDeviceGetNvLinkState");
    link_version.find(library, "nvmlDeviceGetNvLinkVersion");
    link_end.find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    link_kind.find(library, "nvmlDeviceGetNvLinkRemoteDeviceType");
    new_set.find(library, "nvmlEventSetCreate");
    free_set.find(library, "nvmlEventSetFree");
    register_events.find(library, "nvmlDeviceRegisterEvents");
    wait_set.find(library, "nvmlEventSetWait_v2");
    error_text = reinterpret_cast<const char* (*)(int)>(dlsym(library, "nvmlErrorString"));
  }

  [[nodiscard]] std::string text(int result) const {
    const char* known = error_text == nullptr ? nullptr : error_text(result);
    return known == nullptr ? "error " + std::to_string(result) : plain_text(known);
  }

  // A call without which a card cannot be given.
  template <typename... Args, typename... Given>
  bool must(NvmlCard& card, const Call<Args...>& call, Given... given) const {
    const int result = call(given...);
    if (result != kSuccess) note(card, call, result);
    return result == kSuccess;
  }
  template <typename... Args>
  void note(NvmlCard& card, const Call<Args...>& call, int result) const {
    if (card.problem.empty()) card.problem = std::string(call.name()) + ": " + text(result);
  }

  NvmlCard read_card(Device device, const std::string& address, int index) const {
    NvmlCard card;
    card.address = address;
    card.index = index;
    std::array<char, 96> buffer{};
    if (must(card, uuid, device, buffer.data(), unsigned{buffer.size()})) {
      card.uuid = text_of(buffer);
    }
    unsigned number = 0;
    if (must(card, minor, device, &number)) card.minor = static_cast<int>(number);
    MemoryInfo bytes{};
    if (must(card, memory, device, &bytes)) card.memory = static_cast<std::int64_t>(bytes.total);
    if (name(device, buffer.data(), buffer.size()) == kSuccess) card.model = text_of(buffer);
    if (module_id(device, &number) == kSuccess) card.module_id = static_cast<int>(number);
    unsigned mode = 0;
    unsigned pending = 0;
    // Of one that does not say so, the whole is not given: pods may have its instances.
    const int cut = mig_mode(device, &mode, &pending);
    card.is_cut = cut == kSuccess && mode == 1;
    if (cut != kSuccess && cut != kNotSupported) note(card, mig_mode, cut);
    if (card.is_cut) read_instances(device, card);
    read_links(device, card);
    return card;
  }

  void read_instances(Device device, NvmlCard& card) const {
    unsigned most = 0;
    if (!must(card, mig_count, device, &most)) return;
    // Another one's number would be that of the next card's first.
    constexpr unsigned kMost = kMaxInstances;
    if (most > kMost && card.problem.empty()) {
      card.problem = std::string(mig_count.name()) + ": " + std::to_string(most) +
                     " instances, and no more than " + std::to_string(kMost) + " can be told apart";
    }
    for (unsigned i = 0; i < std::min(most, kMost); ++i) {
      Device part = nullptr;
      if (mig_by_index(device, i, &part) != kSuccess) continue;  // none has this number
      std::array<char, 96> buffer{};
      MemoryInfo bytes{};
      if (!must(card, uuid, part, buffer.data(), unsigned{buffer.size()}) ||
          !must(card, memory, part, &bytes)) {
        continue;
      }
      NvmlInstance& instance = card.instances.emplace_back();
      instance.uuid = text_of(buffer);
      instance.index = static_cast<int>(i);
      instance.memory = static_cast<std::int64_t>(bytes.total);
      if (name(part, buffer.data(), buffer.size()) != kSuccess) continue;
      const std::string full = text_of(buffer);  // "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
      if (const auto at = full.rfind(" MIG "); at != std::string::npos) {
        instance.profile = full.substr(at + 5);
      }
    }
  }

  void read_links(Device device, NvmlCard& card) const {
    for (unsigned link = 0; link < kMaxLinks; ++link) {
      unsigned active = 0;
      PciInfo end{};
      if (link_state(device, link, &active) != kSuccess || active == 0) continue;
      if (link_end(device, link, &end) != kSuccess) continue;
      unsigned kind = 0;
      if (link_kind(device, link, &kind) == kSuccess && kind == kProcessor) continue;
      end.bus_id[sizeof end.bus_id - 1] = '\0';
      ++card.lanes[plain_text(pci_address(end.bus_id))];
      (void)link_version(device, link, &card.link_version);
    }
  }

  // Those of cards that answer only now as well.
  void begin_events(const std::map<std::string, Device>& cards,
                    std::vector<std::string>& problems) {
    const std::lock_guard lock(events_mutex);
    if (events == nullptr) {
      if (const int result = new_set(&events); result != kSuccess) {
        events = nullptr;
        problems.push_back("no faults of cards are heard of: nvmlEventSetCreate: " + text(result));
        return;
      }
    }
    for (const auto& [address, device] : cards) {
      if (addresses.contains(device)) continue;
      const int result = register_events(device, kXidEvent, events);
      if (result == kSuccess || result == kNotSupported) {  // not every card has them
        addresses[device] = address;
      } else {
        problems.push_back("no faults of card " + address +
                           " are heard of: nvmlDeviceRegisterEvents: " + text(result));
      }
    }
    if (!events_thread.joinable())
      events_thread = std::jthread([this](const std::stop_token& stop) { watch_events(stop); });
  }

  // A set with a card that is lost tells of no other any more.
  void renew_set() {
    const std::lock_guard lock(events_mutex);
    EventSet fresh = nullptr;
    if (new_set(&fresh) != kSuccess) return;
    free_set(std::exchange(events, fresh));
    std::erase_if(addresses, [this](const auto& known) {
      const int result = register_events(known.first, kXidEvent, events);
      return result != kSuccess && result != kNotSupported;
    });
  }

  std::string address_of(Device device) {
    const std::lock_guard lock(events_mutex);
    const auto found = addresses.find(device);
    return found == addresses.end() ? "" : found->second;
  }

  void watch_events(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      EventData event{};
      const int result = wait_set(events, &event, static_cast<unsigned>(kWait.count()));
      if (result == kTimeout) continue;
      if (result != kSuccess) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait_for(lock, stop, kWait, [] { return false; });
        renew_set();
        continue;
      }
      const bool of_application = std::find(kOfApplications.begin(), kOfApplications.end(),
                                            event.data) != kOfApplications.end();
      if (event.type != kXidEvent || of_application) continue;
      if (const std::string card = address_of(event.device); !card.empty())
        on_fault(card, event.data);
    }
  }

  void* library = nullptr;
  bool started = false;
  OnFault on_fault;
  std::mutex events_mutex;
  EventSet events = nullptr;                // the thread alone puts another in its place
  std::map<Device, std::string> addresses;  // of those in the set; guarded
  std::jthread events_thread;

  Call<> init, shutdown;
  Call<char*, unsigned> driver;
  Call<unsigned*> count;
  Call<unsigned, Device*> by_index;
  Call<Device, PciInfo*> pci_info;
  Call<Device, char*, unsigned> uuid, name;
  Call<Device, unsigned*> minor, module_id, mig_count;
  Call<Device, MemoryInfo*> memory;
  Call<Device, unsigned*, unsigned*> mig_mode;
  Call<Device, unsigned, Device*> mig_by_index;
  Call<Device, unsigned, unsigned*> link_state, link_version, link_kind;
  Call<Device, unsigned, PciInfo*> link_end;
  Call<EventSet*> new_set;
  Call<EventSet> free_set;
  Call<Device, unsigned long long, EventSet> register_events;
  Call<EventSet, EventData*, unsigned> wait_set;
  const char* (*error_text)(int) = nullptr;
};

Nvml::Nvml(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Nvml::~Nvml() = default;

Result<std::unique_ptr<Nvml>> Nvml::open(const std::string& library, OnFault on_fault) {
  auto impl = std::make_unique<Impl>();
  impl->library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (impl->library == nullptr) {
    const char* why = dlerror();
    return fail(ErrorCode::kNotFound,
                why == nullptr ? library + " cannot be loaded" : plain_text(why));
  }
  impl->find_all();
  impl->on_fault = std::move(on_fault);
  if (const int result = impl->init(); result != kSuccess) {
    return fail(ErrorCode::kUnavailable, library + ": nvmlInit_v2: " + impl->text(result));
  }
  impl->started = true;
  return std::unique_ptr<Nvml>(new Nvml(std::move(impl)));
}

std::vector<NvmlCard> Nvml::cards(std::vector<std::string>& problems) {
  std::vector<NvmlCard> cards;
  unsigned count = 0;
  if (const int result = impl_->count(&count); result != kSuccess) {
    problems.push_back("nvmlDeviceGetCount_v2: " + impl_->text(result));
    return cards;
  }
  std::map<std::string, Device> devices;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    PciInfo pci{};
    int result = impl_->by_index(i, &device);
    if (result == kSuccess) result = impl_->pci_info(device, &pci);
    if (result != kSuccess) {
      problems.push_back("the library's card " + std::to_string(i) + ": " + impl_->text(result));
      continue;
    }
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    const std::string address = pci_address(pci.bus_id);
    if (!is_pci_address(address)) {
      problems.push_back("the library's card " + std::to_string(i) + ": its address is \"" +
                         plain_text(address) + "\"");
      continue;
    }
    devices[address] = device;
    cards.push_back(impl_->read_card(device, address, static_cast<int>(i)));
  }
  impl_->begin_events(devices, problems);
  return cards;
}

std::string Nvml::driver_version() const {
  std::array<char, 96> buffer{};
  return impl_->driver(buffer.data(), buffer.size()) == kSuccess ? text_of(buffer) : "";
}

}  // namespace plimsoll::node

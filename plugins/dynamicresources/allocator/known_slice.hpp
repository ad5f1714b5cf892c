#pragma once
// A slice as the inventory keeps it: its devices with their numbers, and beside them what has been
// found out about each. For one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/dynamicresources/allocator/allocated.hpp"
#include "plugins/dynamicresources/allocator/capacity.hpp"
#include "plugins/dynamicresources/values/slice.hpp"

namespace plimsoll::dra {

// What an expression says of a device.
struct Judgement {
  enum class Kind : uint8_t { kFalse, kTrue, kCompileError, kRuntimeError };
  Kind kind = Kind::kFalse;
  std::string error;   // of the two errors
  uint64_t steps = 0;  // that it took to find out
};
using Judge = std::function<Judgement(const std::string& expression, std::string_view driver,
                                      const Device& device)>;

// A question that is answered once per device: an expression's verdict, an attribute's value. The
// answers lie with the slices, at the question's slot. An answer of another epoch is void.
struct Question {
  std::string text;
  uint32_t slot = 0;
  uint64_t epoch = 0;
  uint64_t asked = 0;
};

// Attributes by number: equal values of equal type have one number, so constraints compare numbers.
struct AttributeQuestion : Question {
  std::map<AttributeValue, uint32_t> numbers;  // of scalars
};

inline constexpr uint32_t kNoValue = UINT32_MAX;                // the device lacks the attribute
inline constexpr uint32_t kUnreadValue = UINT32_MAX - 1;        // a list, while lists are not read
inline constexpr uint32_t kFirstListValue = UINT32_C(1) << 31;  // this and more: a list of the page

struct VerdictPage {
  uint64_t epoch = 0;
  std::vector<uint8_t> verdicts;  // by device: 0, or 1 + Judgement::Kind
};

struct AttributePage {
  uint64_t epoch = 0;
  std::vector<uint32_t> values;              // by device
  std::vector<std::vector<uint32_t>> lists;  // each sorted, each value once
};

struct KnownSlice;

struct KnownDevice {
  const Device* device = nullptr;
  KnownSlice* slice = nullptr;
  uint32_t index = 0;   // in the slice
  uint32_t number = 0;  // by name (DeviceNumbers)
  Consumption whole;    // what a request takes that asks for no amounts
};

struct KnownSlice {
  explicit KnownSlice(Slice from, DeviceNumbers& numbers);
  ~KnownSlice();
  KnownSlice(const KnownSlice&) = delete;
  KnownSlice& operator=(const KnownSlice&) = delete;

  Slice spec;
  bool uses_groups = false;  // compatibility groups (alpha): nothing of the slice may be given away
  std::vector<KnownDevice> devices;
  std::vector<VerdictPage> verdicts;      // by slot
  std::vector<AttributePage> attributes;  // by slot

 private:
  DeviceNumbers& numbers_;
};

// Shared counters of a pool (KEP-4815), numbered, and who draws on them.
class CounterTable {
 public:
  struct Draw {
    uint32_t counter = 0;
    Quantity::Nanos amount = 0;
  };
  using Draws = std::vector<Draw>;

  // Nullptr: a set has two declarations, or a device draws on what is not declared.
  [[nodiscard]] static std::shared_ptr<CounterTable> of(const std::vector<KnownSlice*>& slices);

  // Nullptr: it draws on none.
  [[nodiscard]] const Draws* draws(const KnownDevice& device) const;
  // What allocated devices leave. Counted anew when something in the pool changes hands.
  struct Left {
    std::vector<Quantity::Nanos> amounts;  // by counter
    bool overdrawn = false;                // one is below nothing
  };
  [[nodiscard]] const Left& left(const Allocated& allocated, uint32_t pool) const;

 private:
  std::vector<Quantity::Nanos> declared_;
  std::unordered_map<const KnownDevice*, Draws> draws_;
  mutable const Allocated* counted_ = nullptr;
  mutable uint64_t version_ = 0;
  mutable Left left_;
};

}  // namespace plimsoll::dra

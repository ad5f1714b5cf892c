#pragma once
// Selectors of resource claims and device classes: expressions of CEL, the Common Expression
// Language, in the form that Kubernetes 1.37 gives it. docs/claims.md says what is left out.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "plugins/dynamicresources/values/device.hpp"

namespace plimsoll::dra::cel {

struct Expression;

struct CompileError {
  enum class Kind : uint8_t {
    kInvalid,      // the API server refuses it, too
    kUnsupported,  // it is valid, and uses what this scheduler leaves out
  };
  Kind kind = Kind::kInvalid;
  std::string text;  // with line and column in front
};

// Immutable; any thread; copies share what was compiled.
class Selector {
 public:
  static constexpr size_t kLongest = 10 * 1024;  // bytes; Kubernetes' limit

  [[nodiscard]] static tl::expected<Selector, CompileError> compile(std::string_view text);

  // Does the driver's device have what is asked for? An error of the expression on this device is
  // told by its text. `steps` grows by what it took, at most 1,000,000.
  [[nodiscard]] tl::expected<bool, std::string> matches(std::string_view driver,
                                                        const Device& device,
                                                        uint64_t* steps = nullptr) const;

 private:
  explicit Selector(std::shared_ptr<const Expression> expression)
      : expression_(std::move(expression)) {}
  std::shared_ptr<const Expression> expression_;
};

}  // namespace plimsoll::dra::cel

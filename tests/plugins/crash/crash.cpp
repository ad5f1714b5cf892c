// Takes the process with it. Args: {"at": "Create", "Filter", "PreBind" or "PostBind", "how":
// "invalid memory access", "endless recursion", "abort", "exit" or "endless loop"}.

#include <plimsoll/plugin.hpp>

#include <cstdlib>
#include <string>

namespace {

using namespace plimsoll::sdk;

int recurse(int depth);
int (*const volatile g_recurse)(int) = recurse;  // the compiler does not see that it has no end
[[gnu::noinline]] int recurse(int depth) {
  volatile char space[1024];
  space[0] = static_cast<char>(depth);
  return g_recurse(depth + 1) + space[0];
}

class Crash {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;

  Crash(Host, std::string_view args) : args_(args) {
    if (has("Create")) crash();
  }
  Status filter_node(const plimsoll_cycle&, Pod, Node) const {
    if (has("Filter")) crash();
    return {};
  }
  Status pre_bind(plimsoll_cycle&, Pod, std::string_view, Token) const {
    if (has("PreBind")) crash();
    return {};
  }
  void post_bind(plimsoll_cycle&, Pod, std::string_view) const {
    if (has("PostBind")) crash();
  }

 private:
  [[nodiscard]] bool has(std::string_view word) const { return args_.find(word) != args_.npos; }
  // The processor is to notice it.
  __attribute__((no_sanitize("undefined"))) void crash() const {
    if (has("exit")) std::exit(0);
    if (has("abort")) std::abort();
    for (volatile int turn = 0; has("endless loop") && turn < 2;) turn = 1 - turn;
    if (has("endless recursion")) recurse(0);
    *const_cast<volatile int*>(nowhere_) = 1;
  }

  std::string args_;
  const volatile int* nowhere_ = nullptr;
};

}  // namespace

PLIMSOLL_PLUGIN(Crash, "Crash", "2.4.1", "Apache-2.0")

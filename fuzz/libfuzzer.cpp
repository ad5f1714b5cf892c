// libFuzzer's entry point: calls the target that this program is compiled for.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plimsoll::fuzz {
void PLIMSOLL_FUZZ_TARGET(std::string_view input);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::PLIMSOLL_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}

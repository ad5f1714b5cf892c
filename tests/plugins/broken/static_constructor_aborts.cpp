// Would end the process as soon as it is loaded: it must be refused by its note before that.
#include <cstdlib>

#include "broken.hpp"
BROKEN_NOTE("StaticConstructorAborts", note.abi_major = 2)
BROKEN_PLAIN_CREATE

namespace {
struct Aborts {
  Aborts() { std::abort(); }
} aborts;
}  // namespace

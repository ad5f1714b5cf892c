// Its note says all that is asked of it before a profile uses it: making it ends the process.
#include <cstdlib>

#include "broken.hpp"
BROKEN_NOTE("AbortsWhenMade", note.capabilities = PLIMSOLL_CAPABILITY_STATED |
                                                  PLIMSOLL_CAPABILITY_FILTER |
                                                  PLIMSOLL_CAPABILITY_POST_BIND)
BROKEN_CREATE({
  out->size = 0;
  std::abort();
})

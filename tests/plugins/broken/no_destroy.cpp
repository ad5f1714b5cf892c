// Cannot be destroyed.
#include "broken.hpp"
BROKEN_NOTE("NoDestroy", )
BROKEN_CREATE({
  *out = plimsoll_plugin{};
  out->size = sizeof *out;
  return PLIMSOLL_SUCCESS;
})

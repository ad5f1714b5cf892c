// Says nothing about how much it filled in.
#include "broken.hpp"
BROKEN_NOTE("FillsNoSize", )
BROKEN_CREATE({
  out->size = 0;
  return PLIMSOLL_SUCCESS;
})

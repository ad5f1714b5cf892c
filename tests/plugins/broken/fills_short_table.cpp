// Fills in less than there was in 1.0.
#include "broken.hpp"
BROKEN_NOTE("FillsShortTable", )
BROKEN_CREATE({
  out->size = 16;
  return PLIMSOLL_SUCCESS;
})

// Fails and says nothing.
#include "broken.hpp"
BROKEN_NOTE("CreateWithoutText", )
BROKEN_CREATE({
  static_cast<void>(out);
  return PLIMSOLL_ERROR;
})

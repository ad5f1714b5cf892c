// Claims to be built with AddressSanitizer.
#include "broken.hpp"
BROKEN_NOTE("AsanBuilt", note.build_flags = PLIMSOLL_BUILD_ASAN)
BROKEN_PLAIN_CREATE

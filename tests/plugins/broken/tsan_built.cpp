// Claims to be built with ThreadSanitizer.
#include "broken.hpp"
BROKEN_NOTE("TsanBuilt", note.build_flags = PLIMSOLL_BUILD_TSAN)
BROKEN_PLAIN_CREATE

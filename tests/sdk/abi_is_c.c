/* The ABI headers are C11, and lay out their structs there as they do in C++. */
#include <plimsoll/plugin_abi.h>

size_t plimsoll_c_size_of_plugin(void) {
  return sizeof(plimsoll_plugin);
}
size_t plimsoll_c_size_of_host(void) {
  return sizeof(plimsoll_host);
}
size_t plimsoll_c_size_of_pod(void) {
  return sizeof(plimsoll_pod);
}
size_t plimsoll_c_size_of_node_info(void) {
  return sizeof(plimsoll_node_info);
}
size_t plimsoll_c_size_of_note(void) {
  return sizeof(plimsoll_note);
}
int plimsoll_c_has_names(const plimsoll_node_info* info) {
  return PLIMSOLL_HAS(info, host_ports);
}

/* The service "plimsoll.io/device-accounts", version 4: the devices that Device objects report, and
 * who has them. NodeDevice publishes it. One device, one book: a plugin that gives the same
 * hardware away otherwise (resource claims) says here what it gives, and asks what it must not
 * give. Plain C. Loop only.
 */
#ifndef PLIMSOLL_SERVICES_DEVICE_ACCOUNTS_H_
#define PLIMSOLL_SERVICES_DEVICE_ACCOUNTS_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_DEVICE_ACCOUNTS_SERVICE "plimsoll.io/device-accounts"
#define PLIMSOLL_DEVICE_ACCOUNTS_VERSION 4

/* By what two descriptions are known to be of one device; empty: not said. */
typedef struct plimsoll_device_identity {
  plimsoll_str uuid;
  plimsoll_str parent_uuid; /* of a part of a device: the device's own */
  plimsoll_str bus_id;      /* PCI: "0000:65:00.0", in any spelling that Linux has */
  plimsoll_str pcie_root;   /* "pci0000:64": where it is, not which it is */
} plimsoll_device_identity;

typedef struct plimsoll_device_accounts {
  uint32_t size; /* bytes filled; grows only at the end */
  uint32_t reserved;
  void* self; /* first argument of every function */

  /* How many devices of a type ("gpu") on a node are not used at all, healthy and not set aside;
   * -1: nothing is known of that node's devices. */
  int64_t (*unused_devices)(void* self, uint32_t slot, plimsoll_str type);

  /* The NUMA zones of the devices that a pod was given on its node, as a mask (bit i: zone i; 0: it
   * has none, or they belong to no zone). */
  uint64_t (*zones_of_pod)(void* self, plimsoll_str pod_uid);

  /* From now on pods with resource claims have the devices that `hold` says, and no others. To be
   * called in start(). `changed` gets the name of a node on which more or less may be in use; NULL
   * ends that. */
  void (*join)(void* self, void* ctx, void (*changed)(void* ctx, plimsoll_str node));
  /* Whether a device on the node may be in use by others than holders: 1, also where the answer is
   * not known, as nothing says which of the node's devices it is. */
  int32_t (*in_use)(void* self, plimsoll_str node, const plimsoll_device_identity* device);
  /* The devices of a holder, whatever its name, on the node; a list of plimsoll_device_identity. It
   * replaces what the holder had; an empty list: nothing. A device of which nothing is said may be
   * any of the types that claims may be for. */
  void (*hold)(void* self, plimsoll_str holder, plimsoll_str node, plimsoll_list devices);
  /* The NUMA zone of a device, by what Device objects say of it, or else by its PCI root complex if
   * all devices there are in one zone; -1: not known. */
  int32_t (*zone_of)(void* self, plimsoll_str node, const plimsoll_device_identity* device);
} plimsoll_device_accounts;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_SERVICES_DEVICE_ACCOUNTS_H_ */

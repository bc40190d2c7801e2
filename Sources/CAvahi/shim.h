// Avahi's client library, and what its session needs of Linux (a monotonic timer, the names of interfaces).
#ifndef KITH_CAVAHI_SHIM_H
#define KITH_CAVAHI_SHIM_H
#include <avahi-client/client.h>
#include <avahi-client/lookup.h>
#include <avahi-client/publish.h>
#include <avahi-common/address.h>
#include <avahi-common/alternative.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/strlst.h>
#include <avahi-common/thread-watch.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#endif

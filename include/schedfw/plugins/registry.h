// InTreeRegistry: upstream's plugins.
#ifndef SCHEDFW_PLUGINS_REGISTRY_H_
#define SCHEDFW_PLUGINS_REGISTRY_H_

#include "schedfw/base/inline.h"
#include "schedfw/framework/registry.h"

namespace schedfw {

/// A registry of upstream's plugins; add your own to it.
SCHEDFW_INLINE Registry InTreeRegistry();

}  // namespace schedfw

#ifndef SCHEDFW_COMPILED
#include "schedfw/plugins/registry_inl.h"
#endif

#endif  // SCHEDFW_PLUGINS_REGISTRY_H_

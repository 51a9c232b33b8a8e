// Writer of Kubernetes objects: JSON that the readers give the same objects for.
#ifndef SCHEDFW_API_WRITE_H_
#define SCHEDFW_API_WRITE_H_

#include <string>

#include "schedfw/api/objects.h"

namespace schedfw::api {

/// A JSON List of all objects, one a line: by kind, and then in the order of `objects`.
///
/// ParseObjects reads it back to equal objects. What is absent, and what an absent field means, is
/// left out; quantities are in their canonical form, times in UTC. Equal objects give equal text.
/// `ignored` isn't written: there are only counts of those objects.
///
/// What no reader makes doesn't come back as it was: a name that is empty is refused by
/// ParseObjects; bytes that are no UTF-8 become U+FFFD; quantities and times beyond what can be
/// read become the nearest that can. O(size of the text).
std::string WriteObjects(const ObjectList& objects);

}  // namespace schedfw::api

#endif  // SCHEDFW_API_WRITE_H_

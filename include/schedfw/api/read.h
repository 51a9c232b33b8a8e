// Readers of Kubernetes objects: JSON and YAML as kubectl prints them.
#ifndef SCHEDFW_API_READ_H_
#define SCHEDFW_API_READ_H_

#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/objects.h"
#include "schedfw/base/result.h"

namespace schedfw::api {

/// Reads files and merges their objects, in order.
///
/// A file holds objects or Lists of them as JSON (one document, several, or one a line) or as YAML
/// (one document or several, which may be JSON); it may be compressed with gzip; "-" is standard
/// input. YAML scalars are resolved as kubectl does. A key that is given twice means what it means
/// to the API server: the last scalar counts, objects are merged. Kinds that scheduling doesn't
/// read are counted in `ignored`. Nothing is defaulted: see Normalize().
///
/// A long List that a program printed as JSON is read piece by piece, so that its text is never in
/// memory as a whole; of other files it is, up to 4 GiB.
///
/// Errors (ParseError): the file and line, the object, the field path, the value, what is allowed.
/// Values that aren't read, such as those of other kinds, aren't checked.
Result<ObjectList> ReadObjects(const std::vector<std::string>& paths);

/// The same for text in memory; `name` stands for the file in errors.
Result<ObjectList> ParseObjects(std::string_view text, const std::string& name = "<text>");

}  // namespace schedfw::api

#endif  // SCHEDFW_API_READ_H_

// Reading objects while they are few: for those who don't need all of them at once.
#ifndef SCHEDFW_SRC_API_READ_PIECES_H_
#define SCHEDFW_SRC_API_READ_PIECES_H_

#include <string>
#include <vector>

#include "schedfw/api/objects.h"
#include "schedfw/base/result.h"

namespace schedfw::api {

/// Is shown the objects of a long List soon after they were read, and may take some away.
class PieceTaker {
 public:
  virtual ~PieceTaker() = default;
  /// `found` holds all objects of the text so far that weren't taken.
  virtual void Take(ObjectList& found) = 0;
  /// The text was read to its end: what was taken stays.
  virtual void Keep() = 0;
  /// The text is read once more in another way: what was taken of it since the last Keep() or
  /// Drop() comes again.
  virtual void Drop() = 0;
};

/// The same as ReadObjects(paths), but for the objects that `taker` took.
Result<ObjectList> ReadObjects(const std::vector<std::string>& paths, PieceTaker& taker);

}  // namespace schedfw::api

#endif  // SCHEDFW_SRC_API_READ_PIECES_H_

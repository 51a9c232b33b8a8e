// CheckpointFile: named sections of bytes in one file that is replaced as a whole or not at all.
#ifndef SCHEDFW_SCHEDULER_CHECKPOINT_FILE_H_
#define SCHEDFW_SCHEDULER_CHECKPOINT_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/base/result.h"

namespace schedfw {

// The file, in numbers of little-endian order:
//
//   bytes
//    0- 7  "SCHEDFWC"
//    8-11  version: 1
//   12-15  number of sections
//   16-23  sequence
//   24-31  config_digest
//   32-39  bytes of the file
//   40-43  checksum of bytes 0-39
//
// and then each section:
//
//    0- 3  checksum of the rest of the section
//    4- 7  bytes of the name
//    8-15  bytes of the data
//          the name, the data
//
// The checksum is CRC-32 (that of gzip) and goes on from the one before it, so that sections of
// another file, or in another order, don't fit. A file that was written halfway never gets its
// name, and its length would tell; so what remains for the checksum are faults of the medium.
// CRC-32 finds all that lie within 32 bits, and leaves one in 4 * 10^9 of the others. It is no
// signature: who can write the file can forge it.

/// What is in a checkpoint.
struct CheckpointFile {
  std::uint64_t sequence = 0;       ///< of the state, counted by the writer
  std::uint64_t config_digest = 0;  ///< of the configuration that the state belongs to
  std::vector<std::pair<std::string, std::string>> sections;  ///< names and bytes, in order

  /// The bytes of the first section of that name; nullptr when there is none.
  const std::string* Find(std::string_view name) const {
    for (const auto& [its_name, bytes] : sections) {
      if (its_name == name) return &bytes;
    }
    return nullptr;
  }

  friend bool operator==(const CheckpointFile&, const CheckpointFile&) = default;
};

/// The version that is written, and the only one that is read.
inline constexpr std::uint32_t kCheckpointVersion = 1;
/// A file isn't larger: 64 GiB.
inline constexpr std::uint64_t kMaxCheckpointBytes = std::uint64_t{1} << 36;

/// Replaces the file, or makes it: whoever reads it, also after a crash of the program or of the
/// machine at any moment, finds the whole old one or the whole new one.
///
/// It is written beside its place as ".NAME.PROCESS-NUMBER.tmp", with access for the owner only,
/// and moved there when the medium has it; a symbolic link is followed. Files of that name whose
/// writers have died are removed first. Several threads and processes may write the same path at
/// once; the last one stays. It returns when the folder, too, is on the medium.
///
/// Errors (ErrorKind::kArgument): the path, what was done, and the system's reason; the old file is
/// untouched and the new one removed. Only when the folder can't be brought to the medium, the new
/// file is in place already; the message says so. O(bytes + files in the folder).
Result<void> WriteCheckpoint(const std::string& path, const CheckpointFile& file);

/// Reads a file that WriteCheckpoint made.
///
/// Errors (ErrorKind::kParse), which begin with the path: there is no such file, it can't be read,
/// it isn't a checkpoint, it has another version, it is truncated, has bytes behind its end, or is
/// damaged. No more memory is taken than the file is long. O(bytes).
Result<CheckpointFile> ReadCheckpoint(const std::string& path);

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_CHECKPOINT_FILE_H_

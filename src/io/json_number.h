// Writing of JSON scalars as Go's encoding/json writes them.
#ifndef SCHEDFW_IO_JSON_NUMBER_H_
#define SCHEDFW_IO_JSON_NUMBER_H_

#include <string>
#include <string_view>

namespace schedfw::io {

/// Appends a finite number exactly as Go's encoding/json does (encode.go, floatEncoder).
///
/// The fewest digits that give the same double again: as 123 or 0.001 while the absolute value is
/// in [1e-6, 1e21), else as 1.5e+30 or 1e-7. Negative zero is "-0". NaN and infinities have no
/// JSON form and must not be passed. Complexity: constant.
void AppendJsonNumber(double value, std::string* out);

/// Appends a number as Go's strconv.FormatFloat(value, 'g', -1, 32) does.
///
/// This is how sigs.k8s.io/yaml writes a mapping key that is a float, infinities and NaN included
/// (".inf", "-.inf", ".nan"; yaml.go, convertToJSONableObject): the fewest digits that give the
/// same float again, with an exponent if it is below -4 or above 5. Complexity: constant.
void AppendYamlFloatKey(double value, std::string* out);

/// Appends `text` as a JSON string, with its quotation marks.
///
/// Quotation marks, backslashes and control characters are escaped; other characters stay as they
/// are. Each byte that isn't part of valid UTF-8 becomes U+FFFD, as in Go's encoding/json.
/// Complexity: linear.
void AppendJsonString(std::string_view text, std::string* out);

/// The length (1 to 4) of the valid UTF-8 sequence that `text` begins with, or 0 if it begins with
/// none. Surrogates, overlong forms and values above U+10FFFF are invalid. Complexity: constant.
int Utf8Length(std::string_view text);

}  // namespace schedfw::io

#endif  // SCHEDFW_IO_JSON_NUMBER_H_

// SCHEDFW_INLINE: definitions that live in headers, or once in the compiled library.
#ifndef SCHEDFW_BASE_INLINE_H_
#define SCHEDFW_BASE_INLINE_H_

/// Large classes have their definitions in a header `…_inl.h`, which their header includes for
/// users of the headers alone. schedfw::schedfw defines SCHEDFW_COMPILED and compiles them once
/// instead.
#ifdef SCHEDFW_COMPILED
#define SCHEDFW_INLINE
#else
#define SCHEDFW_INLINE inline
#endif

#endif  // SCHEDFW_BASE_INLINE_H_

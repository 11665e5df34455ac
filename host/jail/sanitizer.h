/* Whether this build runs under the address sanitizer, which needs address space without a limit
 * and opens files for its reports. */
#ifndef AL_JAIL_SANITIZER_H
#define AL_JAIL_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define AL_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AL_SANITIZER 1
#endif
#endif
#ifndef AL_SANITIZER
#define AL_SANITIZER 0
#endif

#endif

/* What the kernel takes from a C library, for a target that has none. */
#define memset __builtin_memset

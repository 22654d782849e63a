/* What the kernel takes from a C library, for a target that has none. */
#define HUGE_VAL __builtin_huge_val()
#define NAN __builtin_nanf("")
#define sqrt __builtin_sqrt
#define fabs __builtin_fabs

/* Texts that are compiled twice: once more for processors that add four doubles at once, which
 * gives the same bits. */
#ifndef SF_WIDE_H
#define SF_WIDE_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define SF_WIDEST(f) (__builtin_cpu_supports("avx2") ? f##_wide : f)
#else
#define SF_WIDEST(f) (f)
#endif

#define SF_CAPSULE "surefoot.kernel.rule"

/* What the capsule of a rule holds. */
typedef struct {
    sf_rule rule;
    sf_step_of *step;
} sf_capsule;

sf_step_of sf_step_wide;
#ifdef SF_GAMES_H
sf_play_of sf_play_rounds_wide;
#endif

#endif

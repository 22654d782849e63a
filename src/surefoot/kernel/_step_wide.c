/* The text of _step.c once more, four lanes wide. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#pragma GCC target("avx2")
#endif
#include "c/surefoot.h"
#include "c/wide.h"

int sf_step_wide(const sf_rule *rule, double *state, const sf_feedback *seen, double *scratch,
                 sf_info *info)
{
    return sf_step(rule, state, seen, scratch, info);
}

/* Somebody else's wishes: the proposal itself, which is what is told. */
static inline int sf_propose(const sf_region *region, double *wish, double *wanted,
                             const double *told)
{
    sf_copy(wanted, told);
#if SF_AS_STEPS
    return sf_cut(region, wish, told);
#else
    (void)region;
    sf_copy(wish, told);
    return SF_OK;
#endif
}

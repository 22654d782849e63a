/*
 * Plays rounds again and compares their bits: for a test of a compiler. Above this text
 * `surefoot export-c` writes the rounds: sf_vector_first is the start, sf_vector_told what was
 * told, a gradient or a proposal as SF_VECTOR_KIND says, sf_vector_ends the actions and bounds.
 */
static inline int sf_test_vectors(void)
{
    static double state[SF_STATE], work[SF_SCRATCH];
    if (sf_init(&sf_player, state, sf_vector_first[0]) != SF_OK) {
        return -1;
    }
    for (int t = 0; t < (int)(sizeof(sf_vector_ends) / sizeof(sf_vector_ends[0])); t++) {
        sf_feedback seen = {0};
        sf_info info;
        seen.SF_VECTOR_KIND = sf_vector_told[t];
        seen.g = sf_vector_told[t] + SF_D;
        seen.s = sf_vector_told[t] + SF_D + sf_player.rows;
        if (sf_player.proposer == SF_PROBING) {
            seen.s = NULL;
        }
        if (sf_step(&sf_player, state, &seen, work, &info) != SF_OK
            || memcmp(state, sf_vector_ends[t], SF_D * sizeof(double)) != 0
            || memcmp(&info.bound, &sf_vector_ends[t][SF_D], sizeof(double)) != 0) {
            return t + 1;
        }
    }
    return 0;
}

/* The text of _games.c once more, four lanes wide. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#pragma GCC target("avx2")
#endif
#include "c/games.h"
#include "c/wide.h"

void sf_play_rounds_wide(const sf_game *game, const sf_player *player, double *state,
                         const double *vectors, size_t stride, int64_t rounds,
                         const sf_record *out, double *work)
{
    sf_play_rounds(game, player, state, vectors, stride, rounds, out, work);
}

"""Rules that certify every action before it is played: a proposer and knowledge each."""

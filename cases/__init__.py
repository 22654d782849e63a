"""Cases: real data, and a simulated server, each with the baselines that practitioners use."""

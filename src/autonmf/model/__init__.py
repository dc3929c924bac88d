"""The mathematics of eq. (1): objective, column penalty, optimality, balancing, initial points."""

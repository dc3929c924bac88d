"""The mathematics shared by all losses: penalty, components, initial factors, nonnegative least squares."""

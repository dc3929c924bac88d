"""The mathematics that losses share: penalty, components, initial factors, nonnegative least squares."""

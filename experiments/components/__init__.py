"""What can be said of components: whether they are stable, and how they split."""

"""What the cells compute. Nothing here draws or judges, so that results outlive a change of the page."""

"""Which cases are asked, in which arms and how often, and what follows for each claim."""

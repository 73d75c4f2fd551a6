"""The tables of the paper, filled by one command each."""

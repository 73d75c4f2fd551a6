"""`python -m vgpa` is the `vgpa` command."""

from vgpa.cli import main

main()

"""The paper's tables, filled here: `vgpa benchmark TABLE --data DIR`.

tables     what each table of the paper shows, and what differs from the paper here
published  the paper's own figures, packaged as data
scenes     which scenes a folder holds, in whatever layout, and which of them a table is about
offers     how a scene is offered to a method: its database, fewer pairs, other intrinsics
methods    what can be run: our presets, other people's mappers, yours, results read from files, networks
measure    one run in a process of its own: seconds, processor seconds, peak memory
sweep      every scene x method x seed, each once, through an executor; what is done is not done again
compare    runs and the paper's figures side by side
render     the same as Markdown, CSV and LaTeX
"""

"""Options that several commands share: `--goal` and its companions, and `--set NAME=VALUE`.

They become a checked request for control and changes of a Configuration.  May import every room.  Begin with
`control_options.py` and `settings.py`.
"""

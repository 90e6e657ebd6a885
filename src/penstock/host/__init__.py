"""The machine: cores, directories, processes, whole files, frequencies, energy, a Java runtime.

Thin wrappers around Linux.  Everything that reads sysfs takes a root directory, so that tests can give their own.

May import `arguments` and `errors` alone.  Begin with `cores.py` and `directories.py`.
"""

"""What users give as paths and names: local paths alone, and names that stay inside their folder.

May import what `host` may.  Begin with `local_path.py`.
"""

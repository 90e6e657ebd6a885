"""What tasks hand to each other and to the driver: messages, and large payloads through files of the host.

May import what `runtime` may.  Begin with `message.py`.
"""

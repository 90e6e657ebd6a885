"""Names of the user's as parts of paths: whatever they contain, they stay inside their folder."""

from __future__ import annotations

import hashlib
import re

_LONGEST_BYTES = 160  # Linux allows 255: endings, and the process ids of drafts, come behind
_PREFIX_BYTES = 100


def file_name(name: str) -> str:
    """A name that can be a file's, another one for each name given; plain names stay as they are.

    >>> [file_name(name) for name in ("window", "/abs", "..", "100%", "été")]
    ['window', '%2Fabs', '%2E%2E', '100%25', 'été']
    """
    text = name.replace("%", "%25").replace("/", "%2F").replace("\0", "%00")
    text = re.sub("[\ud800-\udfff]", lambda found: f"%u{ord(found[0]):04X}", text)
    if not text.strip("."):
        text = text.replace(".", "%2E") or "%"
    data = text.encode()
    if len(data) <= _LONGEST_BYTES:
        return text
    digest = hashlib.sha256(data).hexdigest()[:32]
    return f"{data[:_PREFIX_BYTES].decode(errors='ignore')}%-{digest}"

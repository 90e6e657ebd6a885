"""Pictures: graphs in the terminal and as files, and the demonstration's charts."""

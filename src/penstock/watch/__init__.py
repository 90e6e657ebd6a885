"""Pictures: graphs in the terminal and as files, the live console, and runs over time."""

"""The threaded element: queues in front of chosen operators, and threads that take blocks from them."""

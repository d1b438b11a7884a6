"""Being here, it lets every test import the helpers beside it."""

import signal

# A suite that a shell started in the background inherits an ignored SIGINT, and so would every program it tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

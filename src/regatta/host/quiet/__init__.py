"""Making a host quiet, and putting all of it back.

Every knob finds what it would change, keeps what was there on the host's disk before its first change, sets, reads back, and
puts back what was kept. Plain standard library for Python 3.9: it travels to the hosts in the zipapp, as its verb `quiet`.
"""

"""Specs of other tools become ours: running-ng's YAML and ReBench's .conf. What cannot be carried over is listed, never dropped.

ledger    the input with its lines; what of it was carried, what was not and why
reader    typed looks into the input; every problem at once
drafts    our specs and suites before they are files, and the files
words     command lines as a shell would read them, without a shell
names     names that Regatta takes
rebench*, running_ng*    one tool each
"""

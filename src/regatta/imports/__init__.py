"""Import of specs of other tools: running-ng's YAML and ReBench's .conf. Parts that cannot be imported are listed, never dropped.

ledger    the input with its lines; imported parts, and the rest with reasons
reader    typed access to the input; collects all problems
drafts    specs and suites before they are files, and the files
words     command lines as a shell would read them, without a shell, and valid names for Regatta
rebench*, running_ng*    one tool each
"""

"""Contract of import-linter: some packages import only the standard library and named packages.

The contract `forbidden` of import-linter needs the name of every package that is not allowed.
"""

from __future__ import annotations

import sys

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyContract(Contract):
    """`allowed_modules` of other projects, for each of `source_modules` with its modules and the packages around it."""

    type_name = "only"

    source_modules = fields.ListField(subfield=fields.StringField())
    allowed_modules = fields.SetField(subfield=fields.StringField(), required=False, default=())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        allowed = {*sys.stdlib_module_names, *self.allowed_modules}
        found = []
        for source in self.source_modules:
            root, *names = source.split(".")
            # Importing a module also runs the packages around it.
            around = [".".join((root, *names[:depth])) for depth in range(len(names) + 1)]
            for importer in sorted({*around, *graph.find_descendants(source)}):
                for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                    if imported.split(".")[0] not in {root, *allowed}:
                        found.append(f"{importer} imports {imported}")
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["found"]:
            output.print_error(line)
        output.new_line()

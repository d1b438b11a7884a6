from snakemake.exceptions import WorkflowError


from regatta.cli.temporary_folder import claim_folders_of_snakemake

# Before the other imports, which take a second: a kill before this line leaves the folders forever.
claim_folders_of_snakemake(workflow)

from regatta.cli.graph import Graph
from regatta.host.errors import RegattaError

try:
    GRAPH = Graph(config)
except RegattaError as error:
    raise WorkflowError(str(error))

REGATTA = GRAPH.program
RESULTS = GRAPH.results


wildcard_constraints:
    experiment="[^/]+",
    host="[^/]+",
    segment=r"\d{5}",

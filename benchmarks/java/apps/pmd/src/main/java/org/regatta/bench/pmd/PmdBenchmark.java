package org.regatta.bench.pmd;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import net.sourceforge.pmd.PMDConfiguration;
import net.sourceforge.pmd.PmdAnalysis;
import net.sourceforge.pmd.lang.LanguageRegistry;
import net.sourceforge.pmd.lang.LanguageVersion;
import net.sourceforge.pmd.lang.document.FileId;
import net.sourceforge.pmd.lang.document.TextFile;
import net.sourceforge.pmd.lang.rule.RuleSet;
import net.sourceforge.pmd.reporting.Report;
import net.sourceforge.pmd.reporting.RuleViolation;
import net.sourceforge.pmd.util.log.PmdReporter;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.regatta.bench.inputs.SourceTree;

/**
 * Checks a seeded source tree with PMD against its quick-start rules, from memory and in one thread; the output is the
 * findings.
 *
 * <p>PMD resolves the types of the class library of the running JVM. The sources use only declarations that have not
 * changed since release 17, and their language level is fixed, so that the findings are the same everywhere.
 */
final class PmdBenchmark implements Benchmark {
    static final int MAX_SIZE = 1000;
    private static final int CLASSES_PER_SIZE = 2;

    private RuleSet rules;
    private Map<String, String> sources;
    private Report report;

    /** The sources contain records, whose super-class PMD resolves: without it, the findings differ. */
    @Override
    public void probe() throws ClassNotFoundException {
        Class.forName("java.lang.Record");
    }

    @Override
    public void setup(int size, long seed) throws IOException {
        rules = QuickStartRules.load();
        sources = new TreeMap<>();
        for (SourceTree.Unit unit : new SourceTree(new Random(seed), size * CLASSES_PER_SIZE).units()) {
            sources.put(unit.path(), new String(unit.text()));
        }
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        report = null;
    }

    @Override
    public long iterate(int iteration) {
        PMDConfiguration configuration = new PMDConfiguration();
        // No pool: the calling thread does all work.
        configuration.setThreads(0);
        configuration.setIgnoreIncrementalAnalysis(true);
        configuration.setReporter(PmdReporter.quiet());
        LanguageVersion java17 = LanguageRegistry.PMD.getLanguageById("java").getVersion("17");
        configuration.setDefaultLanguageVersion(java17);
        try (PmdAnalysis analysis = PmdAnalysis.create(configuration)) {
            analysis.addRuleSet(rules);
            for (Map.Entry<String, String> source : sources.entrySet()) {
                FileId path = FileId.fromPathLikeString(source.getKey());
                if (!analysis.files().addFile(TextFile.forCharSeq(source.getValue(), path, java17))) {
                    throw new IllegalStateException("PMD does not accept " + source.getKey());
                }
            }
            report = analysis.performAnalysisAndCollectReport();
        }
        failOnErrors();
        return report.getViolations().size();
    }

    /** A file or a rule that PMD aborts is an error; the harness detects an exhausted heap among the causes. */
    private void failOnErrors() {
        for (Report.ProcessingError error : report.getProcessingErrors()) {
            throw new IllegalStateException(error.getFileId() + ": " + error.getMsg(), error.getError());
        }
        for (Report.ConfigurationError error : report.getConfigurationErrors()) {
            throw new IllegalStateException(error.rule().getName() + ": " + error.issue());
        }
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        List<String> found = new ArrayList<>();
        for (RuleViolation violation : report.getViolations()) {
            found.add(violation.getRule().getName() + " " + violation.getFileId().getOriginalPath() + ":"
                    + violation.getBeginLine() + ":" + violation.getBeginColumn());
        }
        long files = report.getViolations().stream()
                .map(RuleViolation::getFileId)
                .collect(Collectors.toSet())
                .size();
        if (files != sources.size()) {
            throw new WrongResultException("every file violates a rule, but PMD found violations in " + files + " of "
                    + sources.size() + " files");
        }
        found.sort(null);
        found.forEach(out::put);
    }
}
